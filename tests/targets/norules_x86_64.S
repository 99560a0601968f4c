/* Assembly without unwind rules. framed has a frame pointer, bare and bare_leaf have none. */
	.text
	.globl framed
	.type framed, @function
framed:
	push %rbp
	mov %rsp, %rbp
	sub $48, %rsp
	call *%rdi
	mov %rbp, %rsp
	pop %rbp
	ret
	.size framed, . - framed

	.globl bare
	.type bare, @function
bare:
	sub $72, %rsp
	call *%rdi
	add $72, %rsp
	ret
	.size bare, . - bare

	.globl bare_leaf
	.type bare_leaf, @function
bare_leaf:
	mov $300000, %ecx
	.p2align 6
1:	dec %ecx
	jnz 1b
	ret
	.size bare_leaf, . - bare_leaf

	.section .note.GNU-stack, "", @progbits
