// Tests run the code that users run. By default vitest would take the development form of packages, which checks more
// and is slower.
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';

it('tests load packages in the form that Node loads for users', () => {
  expect(createRequire(import.meta.url).resolve('xstate')).toMatch(/xstate\.cjs\.js$/);
});
