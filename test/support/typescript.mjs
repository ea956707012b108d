/**
 * How the tests' TypeScript becomes JavaScript: what `tsc` makes of it, without asking for types.
 *
 * @type {import('@swc/core').Options}
 */
export const typescript = {
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: {
      legacyDecorator: true,
      decoratorMetadata: true,
      useDefineForClassFields: true,
    },
    keepClassNames: true,
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};
