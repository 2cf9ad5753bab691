import js from '@eslint/js';
import tseslint from 'typescript-eslint';

const NO_EXPORT_ALL = { selector: 'ExportAllDeclaration', message: 'Name what is exported.' };
const NO_DEFAULTS = {
  selector: 'PropertyDefinition[static=false][value!=null]',
  message: 'A configured value has no default: every key is stated, or its absence has a meaning of its own.',
};
const NAMELESS = {
  selector: 'Program',
  message: 'A file is named after what is in it: no index.ts, and nothing called utils, helpers or shared.',
};

const FRAMEWORK_BANS = [
  { name: '@nestjs/common', importNames: ['forwardRef'], message: 'A cycle of modules is a design fault.' },
  { name: '@nestjs/config', importNames: ['ConfigService'], message: 'Inject the section by its class.' },
];
const NO_GLOBAL = {
  name: '@nestjs/common',
  importNames: ['forwardRef', 'Global'],
  message: 'Only the config module is global, and a cycle of modules is a design fault.',
};
const REQUEST_SCOPE = {
  object: 'Scope',
  property: 'REQUEST',
  message: 'Request-scoped providers are built anew for every request.',
};
const ENVIRONMENT = { object: 'process', property: 'env', message: 'Only the CLI reads the environment.' };

const NODE_GLOBALS = [
  ...['Buffer', 'URL', 'console', 'fetch', 'module', 'performance', 'process', 'require'],
  ...['setImmediate', 'setInterval', 'setTimeout', 'clearInterval', 'clearTimeout', 'structuredClone'],
];

const BROWSER_GLOBALS = ['document', 'window', 'location', 'EventSource', 'fetch', 'setInterval', 'setTimeout'];

const lines = (max) => ['error', { max, skipBlankLines: true, skipComments: true }];

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'coverage/', 'test/clients/', 'test/conformance/cases/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      // It does not see that a call changes a field or a captured variable.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // Options are written as plain objects, whatever class their library gives them.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      complexity: ['error', 15],
      eqeqeq: 'error',
      'max-depth': ['error', 4],
      'max-lines': lines(250),
      'max-lines-per-function': lines(40),
      'max-params': ['error', 5],
      'no-restricted-syntax': ['error', NO_EXPORT_ALL],
      'no-restricted-imports': ['error', { paths: [...FRAMEWORK_BANS.slice(1), NO_GLOBAL] }],
      'no-restricted-properties': ['error', REQUEST_SCOPE, ENVIRONMENT],
    },
  },
  {
    // Nest finds what to inject by the class that a constructor names, so such an import must stay a value.
    files: [
      'src/**/*.{module,controller,guard,interceptor,filter,strategy,decorator,config,indicator,plugin,command}.ts',
    ],
    rules: { '@typescript-eslint/consistent-type-imports': 'off' },
  },
  { files: ['src/cli/**'], rules: { 'no-restricted-properties': ['error', REQUEST_SCOPE] } },
  { files: ['src/modules/config/**'], rules: { 'no-restricted-imports': ['error', { paths: FRAMEWORK_BANS }] } },
  { files: ['src/**/*.config.ts'], rules: { 'no-restricted-syntax': ['error', NO_EXPORT_ALL, NO_DEFAULTS] } },
  {
    files: ['**/*.spec.ts', '**/*.e2e-spec.ts', 'test/**/*.ts'],
    rules: {
      // What a test reads from an answer is any, until the test has checked it.
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-deprecated': 'off', // clients still send what is deprecated
      '@typescript-eslint/no-dynamic-delete': 'off',
      '@typescript-eslint/no-misused-spread': 'off',
      '@typescript-eslint/unbound-method': 'off',
      'max-lines': lines(500),
      'max-lines-per-function': 'off',
      'no-restricted-properties': ['error', REQUEST_SCOPE],
    },
  },
  {
    files: ['**/*.{js,mjs,cjs}'],
    languageOptions: {
      globals: Object.fromEntries(NODE_GLOBALS.map((name) => [name, 'readonly'])),
    },
  },
  {
    // These run in the browser of whoever looks at the operator's page.
    files: ['src/modules/operator/page/*.js'],
    languageOptions: { globals: Object.fromEntries(BROWSER_GLOBALS.map((name) => [name, 'readonly'])) },
  },
  {
    files: ['**/index.*', '**/{utils,helpers,shared}.*', '**/{utils,helpers,shared}/**'],
    rules: { 'no-restricted-syntax': ['error', NAMELESS] },
  },
);
