import { createHash } from 'node:crypto'
import t from 'tap'
import { accessProjection } from '../../../projections/access/projection.ts'
import { accountEvents } from '../../../src/domain/account/events.ts'

/**
 * The read model of access keeps events of accounts as they were when they were applied. Rows of events with other
 * schemas are read only after a rebuild, which a new version brings.
 */

/** The digest of the schemas of account events, by the version of the read model that keeps them. */
const digestByVersion: Readonly<Record<number, string>> = {
  11: 'efa7f36fe01bfd19',
  12: 'efa7f36fe01bfd19',
  13: 'efa7f36fe01bfd19',
  14: '77342cfd40bb8ae5',
  15: 'f4128e9576bbce5b',
}

function digestOf(schemas: Readonly<Record<string, object>>): string {
  const sorted = Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 16)
}

t.test('schemas of account events change with the version of the read model', (t) => {
  const { version } = accessProjection
  const digest = digestOf(accountEvents)
  t.equal(
    digestByVersion[version],
    digest,
    `the schemas of account events are not those of version ${version}: if they changed, raise the version ` +
      `in projections/access/projection.ts; then add that version here with the digest ${digest}, and change no earlier line`,
  )
  t.equal(Math.max(...Object.keys(digestByVersion).map(Number)), version, 'the last line is in use')
  t.end()
})
