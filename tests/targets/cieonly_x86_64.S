/* The rules of plain_leaf are those that all functions share, so its own part of the tables is empty.
 * Its caller keeps a number in %rbp that is no address. */
	.text
	.globl plain_leaf
	.type plain_leaf, @function
plain_leaf:
	.cfi_startproc
	mov $200000, %ecx
1:	dec %ecx
	jnz 1b
	ret
	.cfi_endproc
	.size plain_leaf, . - plain_leaf

	.globl data_in_bp
	.type data_in_bp, @function
data_in_bp:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movabs $0x4242424242424242, %rbp
	call plain_leaf
	pop %rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size data_in_bp, . - data_in_bp

	.section .note.GNU-stack, "", @progbits
