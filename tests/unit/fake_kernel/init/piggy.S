	.section .rodata
	.incbin "init/payload.txt"
