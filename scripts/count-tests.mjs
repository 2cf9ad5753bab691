// Prints "PASSED FAILED" from a report of jest (--json). A skipped test, and a suite that could not run, count as
// failed, and are named. Usage: node count-tests.mjs REPORT
import { readFileSync } from 'node:fs';

const [, , file] = process.argv;
const report = readReport(file);
const left = report.numPendingTests + report.numTodoTests;

for (const { name, message, assertionResults } of report.testResults) {
  if (assertionResults.length === 0) console.error(`did not run: ${name}\n${message}`);
  for (const test of assertionResults) {
    if (test.status !== 'passed') console.error(`${test.status}: ${name} › ${test.fullName}`);
  }
}
console.log(`${report.numPassedTests} ${report.numFailedTests + report.numRuntimeErrorTestSuites + left}`);

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    console.error('The tests left no report: they did not run to their end.');
    process.exit(1);
  }
}
