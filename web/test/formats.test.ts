import { deepStrictEqual } from 'node:assert';
import { test } from 'node:test';
import { formatsIn } from '../src/api';

const DESCRIPTION = `
      - name: other
        schema: {type: string, enum: [x, y]}
      - {$ref: "#/components/parameters/Id"}
      - name: format
        in: query
        description: json by default
        schema: {type: string, enum: [json, folded, pprof]}
      - name: color
        schema: {type: string, enum: [kind]}
`;

test('formats are those of the parameter', () => {
	deepStrictEqual(formatsIn(DESCRIPTION), ['json', 'folded', 'pprof']);
});

test('another parameter is not taken for it', () => {
	deepStrictEqual(formatsIn(DESCRIPTION.replace('schema: {type: string, enum: [json, folded, pprof]}', 'x: 1')), []);
	deepStrictEqual(formatsIn(''), []);
});
