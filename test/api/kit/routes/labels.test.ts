import * as fc from 'fast-check'
import { Registry } from 'prom-client'
import t from 'tap'
import { labelsOf } from '../../../../src/api/kit/routes/labels.ts'
import { RequestError } from '../../../../src/api/kit/request-error.ts'
import { createDeclaredLabels } from '../../../../src/app/access/declared-labels.ts'
import { isLongerThan } from '../../../../src/kernel/characters.ts'
import { propertyRuns } from '../../../helpers/property-runs.ts'
import { character } from '../../../helpers/characters.ts'

const DECLARED = ['project', 'team', 'x-1']
const { of: declaredOf } = createDeclaredLabels(
  {
    known: () => ({
      reporting: { revision: 1, tagKeys: DECLARED, endUser: true },
    }),
  },
  new Registry(),
)

/** Bytes of a header as Node gives them: one character each. */
const bytes = fc.string({ unit: 'binary-ascii', maxLength: 300 })
const latin = fc.uint8Array({ maxLength: 200 }).map((all) => Buffer.from(all).toString('latin1'))
const value = fc.oneof(
  bytes,
  latin,
  {
    weight: 12,
    arbitrary: fc.string({ unit: character, maxLength: 140 }).map((text) => percentEncoded(text)),
  },
  fc.constantFrom('', '%', '%zz', '%00', '%ED%A0%80', '%E2%80%AE', 'a'.repeat(129)),
)
const tags = fc.oneof(bytes, latin, {
  weight: 6,
  arbitrary: fc
    .array(fc.tuple(fc.constantFrom(...DECLARED, 'other', '__proto__', 'constructor', ''), value), {
      maxLength: 4,
    })
    .map((pairs) => pairs.map(([key, text]) => `${key}=${text}`).join('; ')),
})

function percentEncoded(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

t.test('any headers and members: refused by name, or declared and printable', (t) => {
  let refused = 0
  let recorded = 0
  fc.assert(
    fc.property(
      fc.option(tags, { nil: undefined }),
      fc.option(value, { nil: undefined }),
      fc.dictionary(fc.constantFrom('metadata', 'user', 'labels', 'x'), fc.jsonValue()),
      (tagsHeader, endUser, body) => {
        const headers = {
          ...(tagsHeader === undefined ? {} : { 'x-tollgate-tags': tagsHeader }),
          ...(endUser === undefined ? {} : { 'x-tollgate-end-user': endUser }),
        }
        try {
          const { labels } = labelsOf({ headers }, body)
          const kept = declaredOf('tenant', labels)
          const values = [
            ...Object.values(kept.tags ?? {}),
            ...(kept.endUser ? [kept.endUser] : []),
          ]
          recorded += values.length
          return (
            Object.keys(kept.tags ?? {}).every((key) => DECLARED.includes(key)) &&
            values.every((text) => text !== '' && !isLongerThan(text, 128) && !/\p{Cc}/u.test(text))
          )
        } catch (error) {
          refused += 1
          return error instanceof RequestError && error.param?.startsWith('x-tollgate-') === true
        }
      },
    ),
    { numRuns: propertyRuns(500) },
  )
  t.comment(`${refused} refused, ${recorded} recorded`)
  t.ok(refused > 50 && recorded > 10)
  t.end()
})

t.test('bytes beyond ASCII are no percent-encoded text', (t) => {
  for (const [header, text] of [
    ['x-tollgate-tags', 'team=\u00c3\u00a9'],
    ['x-tollgate-tags', 't\u00e9am=x'],
    ['x-tollgate-end-user', '\u00c3\u00a9'],
    ['x-tollgate-end-user', 'ann lee'],
  ] as const)
    t.throws(() => labelsOf({ headers: { [header]: text } }, {}), new RegExp(`^${header} `), text)
  t.end()
})

t.test('the session of an agent is a tag, unless the request names one', (t) => {
  const session = 'd9a1c0de-0000-4000-8000-000000000001'
  const labels = (headers: Readonly<Record<string, string>>, body = {}) =>
    labelsOf({ headers: { 'x-claude-code-session-id': session, ...headers } }, body).labels
  t.same(labels({}), { tags: { session } })
  t.same(labels({}, { metadata: { project: 'apollo' } }), { tags: { session, project: 'apollo' } })
  t.same(labels({ 'x-tollgate-tags': 'session=mine' }), { tags: { session: 'mine' } })
  for (const odd of ['', 'a b', 'x'.repeat(129), 'é'])
    t.same(labels({ 'x-claude-code-session-id': odd }), undefined, odd)
  for (const name of ['session-id', 'session_id', 'x-session-affinity'])
    t.same(labelsOf({ headers: { [name]: session } }, {}).labels, { tags: { session } }, name)
  t.same(
    labels({ 'session-id': 'another' }),
    { tags: { session } },
    'the header of one agent alone counts',
  )
  t.end()
})
