/* Functions as assembly has them: one with type and size, one without a size, one without a type.
 * Their loops are to each other as 1 : 3 : 2. */
	.text
	.p2align 6
	.globl asm_sized
	.type asm_sized, @function
asm_sized:
	mov $100000, %ecx
	.p2align 6
1:	dec %ecx
	jnz 1b
	ret
	.size asm_sized, . - asm_sized

	.p2align 6
	.globl asm_nosize
	.type asm_nosize, @function
asm_nosize:
	mov $300000, %ecx
	.p2align 6
2:	dec %ecx
	jnz 2b
	ret

	.p2align 6
	.globl asm_notype
asm_notype:
	mov $200000, %ecx
	.p2align 6
3:	dec %ecx
	jnz 3b
	ret

	.section .note.GNU-stack, "", @progbits
