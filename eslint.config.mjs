import eslint from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  { ignores: ['dist', 'coverage', 'public', '**/*.mjs', '.sandbox'] },
  eslint.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/prefer-readonly': 'error',
      'no-console': 'error',
      'no-restricted-syntax': [
        'error',
        {
          selector: "MemberExpression[object.name='process'][property.name='env']",
          message: 'Read settings through AppConfig.',
        },
        {
          selector:
            "ImportDeclaration[importKind='type'][source.value=/\\.dto\\.js$/], ImportDeclaration[source.value=/\\.dto\\.js$/] > ImportSpecifier[importKind='type']",
          message: 'A DTO imported as a type loses its decorators and ValidationPipe skips it.',
        },
      ],
    },
  },
  {
    files: [
      'src/main.ts',
      'src/start.ts',
      'src/platform/config/**',
      'sandbox/**',
      'bench/**',
      'test/**',
    ],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    // Nest takes options as plain objects, whatever its types say.
    files: ['src/main.ts', 'src/start.ts'],
    rules: { '@typescript-eslint/no-unsafe-class-instance-assignment': 'off' },
  },
  {
    // Programs that talk to a person in a terminal.
    files: ['sandbox/**', 'bench/**', 'test/**'],
    rules: { 'no-console': 'off', '@typescript-eslint/explicit-module-boundary-types': 'off' },
  },
  {
    files: ['src/**'],
    ignores: ['**/*.spec.ts', '**/*.builder.ts'],
    rules: { 'max-lines': ['error', 300] },
  },
  { files: ['**/*.spec.ts', 'test/**'], rules: { '@typescript-eslint/unbound-method': 'off' } },
);
