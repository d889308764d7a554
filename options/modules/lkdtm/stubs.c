// SPDX-License-Identifier: GPL-2.0
/* What LKDTM calls, and kernels without it do not export: see Kbuild. */
void stub_write_cr4(unsigned long value);

void stub_write_cr4(unsigned long value)
{
}
