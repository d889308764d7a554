"""What terminal and Markdown show of a report: all of it, or what fits on a page."""

from collections.abc import Iterable, Sequence

from temper.report.document import (
    Block,
    Chart,
    Command,
    Detail,
    Document,
    Framed,
    PageOnly,
    Paragraph,
    Plots,
    Section,
)


def text_blocks(document: Document, *, full: bool) -> Sequence[Block]:
    """Return the blocks of a report that are text, with details only if ``full``.

    Short text ends with what it leaves out and the command that shows that.
    """
    left_out: dict[str, None] = {}
    blocks = list(_shown(document.blocks, full, left_out))
    if document.made:
        blocks.append(Paragraph(document.made))
    if left_out:
        names = "; ".join(left_out)
        blocks += [Paragraph(f"Left out: {names}. To see it:"), Command(document.full)]
    return blocks


def _shown(
    blocks: Iterable[Block], full: bool, left_out: dict[str, None]
) -> Iterable[Block]:
    """Yield what text shows; add to ``left_out`` what it leaves out."""
    for block in blocks:
        match block:
            case Plots() | Chart() | PageOnly():
                continue
            case Section():
                yield from _section(block.heading, block.blocks, full, left_out)
            case Framed():
                if inside := list(_shown(block.blocks, full, left_out)):
                    yield Framed(inside)
            case Detail():
                if not full:
                    left_out[block.contents or _decapitalised(block.summary)] = None
                chosen = block.blocks if full else block.gist
                yield from _section(block.summary, chosen, full, left_out)
            case _:
                yield block


def _section(
    heading: str, blocks: Sequence[Block], full: bool, left_out: dict[str, None]
) -> Iterable[Block]:
    """Yield a section of what text shows; none if that is nothing."""
    if inside := list(_shown(blocks, full, left_out)):
        yield Section(heading, inside)


def _decapitalised(text: str) -> str:
    return text[:1].lower() + text[1:]
