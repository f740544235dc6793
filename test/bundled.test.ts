// What tests run is what people run: vitest would take packages in their form for developers, which checks more and is slower.
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';

it('loads packages in the form that Node loads for people', () => {
  expect(createRequire(import.meta.url).resolve('xstate')).toMatch(/xstate\.cjs\.js$/);
});
