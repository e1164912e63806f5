import { readFileSync } from 'node:fs'
import t from 'tap'
import { exitCodeMeanings, exitCodeOf, exitCodes } from '../../src/cli/exit-codes.ts'
import { CommandError, UsageError } from '../../src/cli/output.ts'
import { checkout } from '../helpers/checkout.ts'
import { tollgate } from './support/commands.ts'

/** Every command ends with a code of one table. */

t.test('the table has each code once, and the operators’ page shows it', async (t) => {
  t.same(
    exitCodeMeanings.map(([code]) => code),
    Object.values(exitCodes),
  )
  const page = readFileSync(new URL('docs/operations.md', checkout), 'utf8')
  const rows = [...page.matchAll(/^\| (\d+) +\| (.+?) +\|$/gm)]
  t.same(
    rows.map(([, code, meaning]) => [Number(code), meaning]),
    exitCodeMeanings,
  )
})

t.test('a wrong use is 2, and so is one that another failure was caused by', async (t) => {
  t.equal(exitCodeOf(new UsageError('--limit must be from 1 to 10')), 2)
  t.equal(exitCodeOf(new CommandError('it failed', { cause: new UsageError('x') })), 2)
  t.equal(exitCodeOf(new CommandError('nothing was found')), 1)
})

t.test('a command ends with 75 where a store is away, and says which', async (t) => {
  const away = {
    EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
    DATABASE_URL: 'postgres://tollgate@127.0.0.1:1/tollgate',
    MARKER_SECRET: 'a marker secret of the tests alone',
  }
  const ended = await tollgate(['token', 'list', '--tenant', 'tenant_1'], away)
  t.equal(ended.code, 75)
  t.match(ended.stderr, /^tollgate: the Postgres of DATABASE_URL cannot be used: .*ECONNREFUSED/)
})
