import { join } from 'node:path'
import t from 'tap'
import { ConfigError } from '../../src/config.ts'
import { exitCodeOf, exitCodes } from '../../src/cli/exit-codes.ts'
import { requireStoreUrls } from '../../src/cli/store-urls.ts'

/** Addresses of stores that the gateway cannot use are named before a store is asked. */

const databaseUrl = 'postgres://gateway:secret@127.0.0.1:5432/tollgate'
const eventStoreUrl = 'esdb://gateway:secret@127.0.0.1:2113?tls=false'

function faultsOf(given: {
  readonly databaseUrl?: string
  readonly eventStoreUrl?: string
}): readonly string[] {
  try {
    requireStoreUrls({ databaseUrl, eventStoreUrl, ...given })
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    t.equal(exitCodeOf(error), exitCodes.refused)
    return error.faults
  }
}

t.test('valid addresses are accepted', async (t) => {
  t.same(faultsOf({}), [])
  for (const url of [
    'postgres://u:a%23b@h/x',
    'postgres://u:p@/db?host=/tmp',
    'postgres://%2Fvar%2Frun/db',
    'postgresql://h/x?user=a@b',
    'postgres://u:p@h:5432/x?sslmode=require&application_name=a@b',
  ])
    t.same(faultsOf({ databaseUrl: url }), [], url)
  for (const url of ['esdb://u:a#b@h:2113?tls=false', 'esdb+discover://u:a/b@h1:2113,h2:2113'])
    t.same(faultsOf({ eventStoreUrl: url }), [], url)
})

t.test(
  'an unescaped password, a wrong port and a wrong file are named, without the password',
  async (t) => {
    const noPem = t.testdir({ 'ca.pem': 'no certificate' })
    const wrong: readonly (readonly ['databaseUrl' | 'eventStoreUrl', string, RegExp])[] = [
      ['databaseUrl', 'postgres://u:pa#ss@h/x', /^DATABASE_URL cannot be read: .*%23/],
      ['databaseUrl', 'postgres://u:1#ss@h/x', /^DATABASE_URL cannot be read/],
      ['databaseUrl', 'postgres://u:1/ss@h/x', /^DATABASE_URL cannot be read/],
      ['databaseUrl', 'postgres://u:1?ss@h/x', /^DATABASE_URL cannot be read/],
      ['databaseUrl', 'postgres://u:ss@h:543x/x', /^DATABASE_URL has a port/],
      [
        'databaseUrl',
        'postgres://h/x?sslrootcert=/none.pem',
        /^DATABASE_URL: sslrootcert names \/none\.pem.*ENOENT/,
      ],
      ['databaseUrl', `postgres://h/x?sslrootcert=${join(noPem, 'ca.pem')}`, /has no certificate/],
      ['eventStoreUrl', 'esdb://u:ss@h:99999', /^EVENTSTORE_URL has a port/],
      ['eventStoreUrl', 'esdb://u:pa?ss@h:2113', /^EVENTSTORE_URL/],
      ['eventStoreUrl', 'esdb://h:1?tls=maybe', /^EVENTSTORE_URL cannot be read/],
      [
        'eventStoreUrl',
        'esdb://h:1?tlsCAFile=/none.pem',
        /^EVENTSTORE_URL: tlsCAFile names \/none\.pem.*ENOENT/,
      ],
      ['eventStoreUrl', `esdb://h:1?tlsCAFile=${join(noPem, 'ca.pem')}`, /has no certificate/],
    ]
    for (const [name, url, why] of wrong) {
      const [fault = '', ...more] = faultsOf({ [name]: url })
      t.match(fault, why, url)
      t.same(more, [])
      t.notMatch(fault, /ss@/)
    }
  },
)
