import eslint from '@eslint/js';
import { defineConfig } from 'eslint/config';
import importSort from 'eslint-plugin-simple-import-sort';
import tseslint from 'typescript-eslint';

/** What the pages use of the browser. */
const BROWSER = Object.fromEntries(
  [
    'document',
    'fetch',
    'location',
    'sessionStorage',
    'setInterval',
    'setTimeout',
    'window',
    'confirm',
    'clearInterval',
    'clearTimeout',
    'navigator',
    'URL',
    'URLSearchParams',
    'TextEncoder',
    'addEventListener',
    'removeEventListener',
    'AbortSignal',
    'FormData',
    'getComputedStyle',
    'atob',
    'btoa',
    'crypto',
  ].map((name) => [name, 'readonly']),
);

/** A spread reads as an override. Properties and elements are written where they belong. */
const NO_SPREAD_OF_A_LITERAL = [
  {
    selector: 'SpreadElement > ObjectExpression',
    message: 'Write the properties in the object itself.',
  },
  {
    selector: 'SpreadElement > ArrayExpression',
    message: 'Write the elements in the list itself.',
  },
];

/** Classes of plain objects, which lose nothing when they are copied. */
const ANSWERS_THAT_ARE_SPREAD = [
  'AttemptView',
  'Eip712Receipt',
  'Eip712Signature',
  'ReceiptDomain',
  'RunView',
  'SettleBody',
  'SettleExtra',
  'SettlementReceipt',
  'SignedReceipt',
  'TakedownView',
  'WebhookView',
].map((name) => ({ from: 'file', name }));

/** As the rule of the same name, but for constructors and factories of Nest: what is injected has no order to remember. */
const MAX_PARAMS = {
  create(context) {
    const check = (node) => {
      const { parent, params } = node;
      const isInjected = parent.kind === 'constructor' || parent.key?.name === 'useFactory';
      if (params.length <= 5 || isInjected) return;
      context.report({ node, message: 'Take what is more than five as an object, by name.' });
    };
    return {
      FunctionDeclaration: check,
      FunctionExpression: check,
      ArrowFunctionExpression: check,
    };
  },
};

export default defineConfig(
  {
    ignores: [
      'dist',
      'coverage',
      '**/*.mjs',
      '!scripts/*.mjs',
      '.sandbox',
      // Checked by its test, beside the types it needs.
      'test/clients/typescript',
    ],
  },
  eslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    plugins: { own: { rules: { 'max-params': MAX_PARAMS } } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@typescript-eslint/prefer-readonly': 'error',
      // Answers are plain objects: their classes describe them, and classes with behaviour have private fields.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-misused-spread': ['error', { allow: ANSWERS_THAT_ARE_SPREAD }],
      'no-console': 'error',
      'own/max-params': 'error',
      'no-restricted-syntax': [
        'error',
        ...NO_SPREAD_OF_A_LITERAL,
        {
          selector: "MemberExpression[object.name='process'][property.name='env']",
          message: 'Read settings through AppConfig.',
        },
        {
          selector:
            "ImportDeclaration[importKind='type'][source.value=/\\.dto\\.js$/], ImportDeclaration[source.value=/\\.dto\\.js$/] > ImportSpecifier[importKind='type']",
          message: 'Import a DTO class without `type`: ValidationPipe skips a type.',
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
    rules: { 'no-restricted-syntax': ['error', ...NO_SPREAD_OF_A_LITERAL] },
  },
  {
    // Programs that talk to a person in a terminal.
    files: ['sandbox/**', 'bench/**', 'test/**'],
    rules: { 'no-console': 'off', '@typescript-eslint/explicit-module-boundary-types': 'off' },
  },
  {
    // The pages are served as they are written: plain scripts and modules of the browser.
    files: ['public/**/*.js'],
    languageOptions: { sourceType: 'module', globals: BROWSER },
    rules: {
      'no-restricted-syntax': ['error', ...NO_SPREAD_OF_A_LITERAL],
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'no-implicit-globals': 'error',
    },
  },
  {
    // From far to near: Node, packages, other rooms, the own folder.
    files: ['**/*.ts', 'scripts/*.mjs'],
    plugins: { 'import-sort': importSort },
    rules: {
      'import-sort/imports': [
        'error',
        { groups: [['^\\u0000', '^node:', '^@?\\w', '^\\.\\.', '^\\.']] },
      ],
    },
  },
  {
    // Programs that run before anything is installed.
    files: ['scripts/*.mjs'],
    languageOptions: {
      globals: {
        URL: 'readonly',
        console: 'readonly',
        performance: 'readonly',
        process: 'readonly',
      },
    },
  },
  // A test's own helpers are called in one place.
  {
    files: ['test/**', 'bench/**', '**/*.spec.ts'],
    rules: { 'own/max-params': 'off' },
  },
  { files: ['**/*.spec.ts', 'test/**'], rules: { '@typescript-eslint/unbound-method': 'off' } },
);
