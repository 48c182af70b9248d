/**
 * Set up and run every suite; the last line counts them all: `N passed, N failed`.
 *
 *   npm test                   everything but the frameworks
 *   npm test -- --frameworks   with them (`npm run test:frameworks`; 10 GB, cached)
 *   npm test -- jest pytest    only the suites named
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bin, python, root } from './environment.mjs';
import { findChromium } from './browser.mjs';
import { Stop, exitWith, passThrough } from './run.mjs';
import { setup } from './setup.mjs';

const results = join(root, '.cache', 'test-results');
const none = { passed: 0, failed: 0, skipped: 0 };

/** A suite that is one check: it passes or fails as a whole. */
function check(command, args) {
  return async () =>
    (await passThrough(command, args)) === 0
      ? { ...none, passed: 1 }
      : { ...none, failed: 1 };
}

/** Run a suite that writes a report, and count by the report, not by what it printed. */
function reported(command, args, file, count, env = async () => ({})) {
  return async () => {
    const report = join(results, file);
    rmSync(report, { force: true });
    const status = await passThrough(command, args(report), {
      env: await env(report)
    });
    const counts = existsSync(report)
      ? count(readFileSync(report, 'utf8'))
      : none;
    // A run that broke down without a failing test (no report, a crash) is a failure too.
    return status !== 0 && counts.failed === 0
      ? { ...counts, failed: counts.failed + 1 }
      : counts;
  };
}

function countJest(text) {
  const report = JSON.parse(text);
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + report.numRuntimeErrorTestSuites,
    skipped: report.numPendingTests + report.numTodoTests
  };
}

function countJunit(text) {
  const sum = name =>
    [...text.matchAll(/<testsuite [^>]*>/g)]
      .map(([tag]) => Number(tag.match(` ${name}="(\\d+)"`)?.[1] ?? 0))
      .reduce((total, number) => total + number, 0);
  const failed = sum('failures') + sum('errors');
  const skipped = sum('skipped');
  return { passed: sum('tests') - failed - skipped, failed, skipped };
}

const pytest = (name, ...more) =>
  reported(
    python,
    report => ['-m', 'pytest', '-q', `--junitxml=${report}`, ...more],
    `${name}.xml`,
    countJunit
  );

const jlpm = join(bin, 'jlpm');
const suites = {
  wire: check('node', ['scripts/wire.mjs', '--check']),
  stylelint: check(jlpm, ['stylelint:check']),
  prettier: check(jlpm, ['prettier:check']),
  eslint: check(jlpm, ['eslint:check']),
  types: check(jlpm, ['tsc', '--noEmit', '-p', 'tsconfig.json']),
  'ui-types': check(jlpm, ['tsc', '--noEmit', '-p', 'ui-tests/tsconfig.json']),
  ruff: check(python, ['-m', 'ruff', 'check', 'python_probe']),
  'ruff-format': check(python, [
    '-m',
    'ruff',
    'format',
    '--check',
    'python_probe'
  ]),
  mypy: check(python, ['-m', 'mypy']),
  jest: reported(
    jlpm,
    report => ['jest', '--json', `--outputFile=${report}`],
    'jest.json',
    countJest
  ),
  pytest: pytest('pytest', '-m', 'not frameworks and not wheel'),
  wheel: pytest('wheel', '-m', 'wheel', 'python_probe/tests/wheel'),
  frameworks: reported(
    'node',
    report => ['scripts/frameworks.mjs', 'pytest', `--junitxml=${report}`],
    'frameworks.xml',
    countJunit
  ),
  'frameworks-ui': reported(
    'node',
    () => ['scripts/frameworks.mjs', 'playwright'],
    'frameworks-ui.xml',
    countJunit,
    async report => ({ PLAYWRIGHT_JUNIT_OUTPUT_NAME: report })
  ),
  playwright: reported(
    jlpm,
    () => ['playwright', 'test', '-c', 'ui-tests/playwright.config.js'],
    'playwright.xml',
    countJunit,
    async report => ({
      CHROMIUM: await findChromium(),
      PLAYWRIGHT_JUNIT_OUTPUT_NAME: report
    })
  )
};

try {
  const args = process.argv.slice(2);
  const named = args.filter(argument => !argument.startsWith('-'));
  const wrong = named.filter(name => !(name in suites));
  if (wrong.length) {
    throw new Stop(
      `No suite is called ${wrong.join(', ')}. There are: ${Object.keys(suites).join(', ')}`
    );
  }
  const chosen = named.length
    ? named
    : Object.keys(suites).filter(
        name => !name.startsWith('frameworks') || args.includes('--frameworks')
      );
  console.log('Setting up');
  await setup();
  mkdirSync(results, { recursive: true });

  const rows = [];
  for (const name of chosen) {
    console.log(`\n=== ${name}`);
    const started = Date.now();
    let counts;
    try {
      counts = await suites[name]();
    } catch (error) {
      if (!(error instanceof Stop)) {
        throw error;
      }
      console.error(error.message);
      counts = { ...none, failed: 1 };
    }
    rows.push({
      suite: name,
      ...counts,
      seconds: Math.round((Date.now() - started) / 1000)
    });
  }
  console.log('');
  console.table(rows);
  const total = key => rows.reduce((sum, row) => sum + row[key], 0);
  if (total('skipped')) {
    console.log(
      'Skipped tests name their reason above; without gcc the parts that need the C driver are among them.'
    );
  }
  process.exitCode = total('failed') ? 1 : 0;
  console.log(`${total('passed')} passed, ${total('failed')} failed`);
} catch (error) {
  exitWith(error);
}
