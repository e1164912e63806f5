/**
 * Files that run in `npm run test:long` and where they are named, but not in `npm test`: whole products that start, wait
 * and are killed again and again, walks through many pages, every column of every table. Each with the file that shows
 * the heart of the same in `npm test`.
 */
export const onlyAtLength: Readonly<Record<string, string>> = {
  'app/audit/columns': 'app/audit/audit',
  'app/audit/compared-tasks': 'app/audit/compare',
  'app/audit/resume': 'app/audit/audit',
  'app/finance/statements/refunds': 'app/finance/statements/close',
  'cli/backup': 'infra/embedded/eventstore/copy',
  'cli/configuration': 'config',
  'cli/finance-page': 'cli/close-month',
  'cli/migrations': 'storage/postgres/migrate',
  'cli/start-waits': 'e2e/stopped-stores',
  'cli/startup-faults': 'cli/exit-codes',
  'cli/wrong-starts': 'config',
  'e2e/console-closing': 'e2e/periods',
  'e2e/console-hostile-texts': 'e2e/console',
  'e2e/console-ledger': 'e2e/console-finance-month',
  'e2e/console-questions': 'e2e/console-finance-month',
  'e2e/console-tenants': 'e2e/console-support-day',
  'e2e/console-walk': 'e2e/console-support-day',
  'e2e/documentation': 'docs-examples',
  'e2e/odd-upstream-ids': 'fuzz/bodies',
  'e2e/voids': 'domain/statement/decider',
  'faults/assets': 'app/assets/creation',
  'faults/clock-steps': 'app/tasks/watch/reconcile',
  'faults/disk-full': 'infra/embedded/eventstore/disk-full',
  'faults/media': 'app/tasks/images/crash',
  'faults/operator-commands': 'e2e/management-in-traffic',
  'faults/outages': 'e2e/log-away',
  'faults/power/power-loss': 'infra/embedded/eventstore/durability',
  'faults/rolling-restart': 'e2e/replicas',
  'faults/text/callers': 'app/calls/disconnect',
  'faults/text/cluster': 'eventlog/log/cluster',
  'faults/text/kills': 'app/calls/crash',
  'faults/text/outages': 'app/calls/outage',
  'faults/text/stall': 'app/calls/storm',
  'fuzz/parameters': 'fuzz/requests',
  'infra/alerts': 'infra/dashboards',
  'infra/embedded/eventstore/bounds': 'infra/embedded/eventstore/protocol',
  'infra/embedded/postgres/kills': 'infra/embedded/postgres/restarts',
  'infra/image': 'infra/compose',
  'start/nightly-audit': 'app/audit/nightly',
}

const paths = new Set(Object.keys(onlyAtLength).map((name) => `test/${name}.test.js`))

/** Whether a compiled test file, such as `test/cli/backup.test.js`, is left to `npm run test:long`. */
export function isOnlyAtLength(path: string): boolean {
  return paths.has(path)
}
