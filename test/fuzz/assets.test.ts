import * as fc from 'fast-check'
import t from 'tap'
import { type ActionName, actionNames } from '../../src/families/video-a/library/requests.ts'
import { asCaller, good, overseas, refused, urlOf } from '../families/video-a/library/support.ts'
import { atLength } from '../helpers/long-run.ts'
import { propertyRuns } from '../helpers/property-runs.ts'
import { attempt, startFuzzed } from './support.ts'
import { character } from '../helpers/characters.ts'

const harness = await startFuzzed()
t.teardown(async () => harness.app.close())

async function post(url: string, payload: string) {
  return attempt(harness, { method: 'POST', url, headers: asCaller, payload })
}

const strange = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    101,
    Number.MAX_SAFE_INTEGER,
    '',
    ' ',
    '__proto__',
    [],
    {},
    [null],
    ['Active'],
    { GroupType: 'AIGC' },
    { GroupType: 'AIGC', GroupIds: ['x'], Statuses: [{}] },
    { Strategy: 'Skip' },
    { toString: 1 },
    'AIGC',
    'LivenessFace',
    'Video',
    'Asc',
    overseas,
    'overseas-video-2-5-260628',
    'asset-01KJWVV3C5PZ4QAM0N1RXD2E6F',
    'group-01KJWVV3C5PZ4QAM0N1RXD2E6G',
    'data:image/png;base64,AAAA',
    'https://',
    'https://[::1',
    'https://hooks.example.com/x',
    'http://hooks.example.com:80/%zz',
    'https://127.1/',
    '\u202e\ufeff',
    'x'.repeat(400),
  ),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: character, maxLength: 30 }),
)

const members = [
  ...new Set(actionNames.flatMap((action) => Object.keys(good[action]))),
  'Url',
  'url',
  'Description',
  'ProjectName',
  'GroupType',
  'Moderation',
  'PageNumber',
  'PageSize',
  'SortBy',
  'SortOrder',
  'GroupIds',
  'NextToken',
  'ID',
  'constructor',
  'hasOwnProperty',
] as const

const action = fc.constantFrom<ActionName>(...actionNames)

void t.test('any values in the members of any action: 4xx naming one, or 200', async (t) => {
  // Fewer do not reach each kind.
  const runs = Math.max(800, propertyRuns(atLength(800, 4_000)))
  const seen = new Map<string, Set<ActionName>>([
    ['200', new Set()],
    ['400', new Set()],
    ['404', new Set()],
  ])
  let wrong = 0
  const changes = fc.dictionary(fc.constantFrom(...members), strange, { maxKeys: 3 })
  await fc.assert(
    fc.asyncProperty(action, changes, fc.boolean(), async (name, changed, fromGood) => {
      const body = { ...(fromGood ? good[name] : {}), ...changed }
      const answer = await post(urlOf(name), JSON.stringify(body))
      seen.get(String(answer.statusCode))?.add(name)
      if (answer.statusCode !== 400) return
      wrong += 1
      const { code = '', message = '' } = refused(answer)
      if (!/^(?:Missing|Invalid)Parameter(?:\.[\w.[\]]+)?$/.test(code)) throw new Error(answer.body)
      if (!/`[\w.]+`|key|number|nest/i.test(message)) throw new Error(`names none: ${answer.body}`)
    }),
    { numRuns: runs, seed: 301 },
  )
  t.ok(wrong > runs * 0.25, `${wrong} × 400`)
  t.same(seen.get('200'), new Set(actionNames), 'each was run')
  t.same(seen.get('400'), new Set(actionNames), 'each was refused')
  t.ok((seen.get('404')?.size ?? 0) > 4)
})

void t.test('any query is answered in shape, and runs a known action only', async (t) => {
  const runs = propertyRuns(atLength(500, 2_500))
  const text = fc.oneof(
    fc.string({ unit: character, maxLength: 20 }).map((each) => encodeURIComponent(each)),
    fc.constantFrom('', '%', '%zz', '%00', '%ff', '%ED%A0%80', '%0d%0aX:1', '&', '=', '#', '+'),
    fc.constantFrom<string>('Action', 'Version', '2024-01-01', ...actionNames, '__proto__'),
  )
  const part = fc.oneof(
    fc.tuple(text, text).map(([name, value]) => `${name}=${value}`),
    action.map((name) => `Action=${name}`),
    text.map((name) => `Action=${name}`),
    action.map((name) => `Action=${name}&Version=2024-01-01`),
    fc.constant('Version=2024-01-01'),
  )
  const counts = new Map<number, number>()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('/provA', '/provA/'),
      fc.array(part, { maxLength: 4 }),
      async (path, parts) => {
        const before = harness.assets.asked.length
        const search = parts.join('&')
        const meant = actionNames.find((name) => search.includes(`Action=${name}`)) ?? 'GetAsset'
        const answer = await post(`${path}?${search}`, JSON.stringify(good[meant]))
        counts.set(answer.statusCode, (counts.get(answer.statusCode) ?? 0) + 1)
        const whole = search.split('&')
        const isRight =
          whole.some((one) => actionNames.some((known) => one === `Action=${known}`)) &&
          whole.includes('Version=2024-01-01')
        if (harness.assets.asked.length > before && !isRight) throw new Error(search)
      },
    ),
    { numRuns: runs, seed: 302 },
  )
  for (const status of [200, 400, 404])
    t.ok((counts.get(status) ?? 0) > runs * 0.008, `${counts.get(status)} × ${status}`)
})

void t.test('any bytes as a body of any action: 400, 413, or 200 by chance', async (t) => {
  const runs = propertyRuns(atLength(200, 1_000))
  const payload = fc.oneof(
    fc.json({ maxDepth: 4 }),
    fc.string({ unit: character, maxLength: 100 }),
    fc.nat({ max: 70_000 }).map((length) => '['.repeat(length)),
  )
  let refusedOnes = 0
  await fc.assert(
    fc.asyncProperty(action, payload, async (name, body) => {
      if ((await post(urlOf(name), body)).statusCode >= 400) refusedOnes += 1
    }),
    { numRuns: runs, seed: 303 },
  )
  t.ok(refusedOnes > runs * 0.95, `${refusedOnes} refused`)
})
