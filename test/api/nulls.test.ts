import pino from 'pino'
import t from 'tap'
import { membersOf } from '../../src/api/kit/routes/surface.ts'
import { families } from '../../src/families/index.ts'
import { openFamilies } from '../../src/families/module.ts'
import type { JsonObject } from '../../src/kernel/json.ts'
import { familyDeps, startApp } from './support/app.ts'
import { creations } from './support/creations.ts'
import { answered, MemoryImages, MemorySpeech, MemoryTexts } from './support/memory-calls.ts'
import { changed, inWords, pathsOf } from './support/odd-bodies.ts'

/**
 * A member that is null counts as left out on every surface: the answer is the same, and so is what
 * is ordered upstream.
 */

const images = new MemoryImages()
const texts = new MemoryTexts()
const speech = new MemorySpeech()
const imageTasks: unknown[] = []
const { app, hosts, tasks, assets } = await startApp(
  {
    logger: pino({ level: 'silent' }),
    images: {
      tasks: {
        create: (input) => {
          imageTasks.push(input)
          return Promise.resolve({
            platformId: 'image_1',
            nativeId: 'image_1',
            replayed: false,
            createdAtMs: 0,
          })
        },
        get: () => Promise.reject(new Error('is not asked for')),
        quote: answered,
      },
    },
  },
  texts,
  speech,
  images,
)
hosts.set('media.example.com', ['93.184.216.34'])
t.teardown(() => app.close())

const orders: readonly unknown[][] = [
  images.calls,
  texts.calls,
  texts.streams,
  speech.calls,
  imageTasks,
  tasks.created,
  assets.asked,
]
const ofOneRequest = new Set(['requestId', 'bodyHash', 'bodyFingerprint', 'callerGone', 'keyed'])

/** The answer to a request without what differs each time, and what it ordered. */
async function outcome(
  method: 'POST' | 'PUT',
  url: string,
  body: JsonObject,
  token = 'sk-one',
): Promise<{ readonly answer: string; readonly ordered: unknown }> {
  for (const list of orders) list.length = 0
  const headers = { authorization: `Bearer ${token}` }
  const { statusCode, body: text } = await app.inject({ method, url, headers, payload: body })
  // Text passes members on as they are: to upstream too a null one is as one left out.
  const passesNulls = /^\/v1(?:beta\/|\/chat|\/responses)/.test(url)
  const ordered = JSON.stringify(orders, (name, value: unknown) =>
    ofOneRequest.has(name) || (passesNulls && (value === null || name === 'inputSize'))
      ? undefined
      : value,
  )
  const ids = /video_\w+|\b(?:req_)?[0-9A-HJKMNP-TV-Z]{26}\b|cgt-\d+-\w+|\d{15,}/g
  return {
    answer: `${statusCode} ${text.replaceAll(ids, '…')}`,
    ordered: JSON.parse(ordered.replaceAll(ids, '…')),
  }
}

/** A body without a member, and with null in its place. */
function bothWays(
  body: JsonObject,
  at: ReturnType<typeof pathsOf>[number],
): { readonly without: JsonObject; readonly withNull: JsonObject } {
  return {
    without: changed(body, at, (holder, last) => {
      Reflect.deleteProperty(holder, last)
    }),
    withNull: changed(body, at, (holder, last) => {
      holder[last] = null
    }),
  }
}

for (const [name, { path, bodies }] of Object.entries(creations))
  t.test(`${name}: a null member counts as left out`, async (t) => {
    for (const body of bodies)
      for (const at of pathsOf(body)) {
        if (typeof at.at(-1) === 'number') continue
        const { without, withNull } = bothWays(body, at)
        t.strictSame(
          await outcome('POST', path, withNull),
          await outcome('POST', path, without),
          inWords(at),
        )
      }
  })

const { surfaces } = openFamilies(families, familyDeps)
const known = membersOf(surfaces)
/** Names of any interface, each as it is and with a letter more. */
const names = [
  ...new Set([...known, 'frames', 'negative_prompt', 'cfg_scale', 'session', 'prompt_optimizer']),
].flatMap((name) => [name, `${name}z`])

for (const [name, { path, bodies }] of Object.entries(creations))
  t.test(`${name}: null members of any name change neither the order nor the answer`, async (t) => {
    for (const body of bodies) {
      const whole = await outcome('POST', path, body)
      t.match(whole, { answer: /^2/ })
      const further = names.filter((one) => !Object.hasOwn(body, one))
      const nulls = Object.fromEntries(further.map((one) => [one, null]))
      t.strictSame(await outcome('POST', path, { ...body, ...nulls }), whole)
    }
  })

const limits = { requests_per_minute: 1, concurrent_calls: 1 }
const scope = { level: 'specified_users', user_ids: ['user_1'] }
const ofToken = { kind: 'query', name: 'one', scope, models: ['text-basic'], limits }
const tenant = '/api/admin/tenants/acme'
const managed: readonly (readonly ['POST' | 'PUT', string, JsonObject])[] = [
  ['POST', '/api/user/tokens', ofToken],
  ['POST', '/api/admin/tokens', { ...ofToken, tenant_id: 'acme', user_id: 'ann' }],
  ['POST', '/api/admin/tenants', { name: 'Acme', tenant_id: 'acme' }],
  ['POST', `${tenant}/users`, { name: 'Ann', user_id: 'ann' }],
  [
    'POST',
    `${tenant}/credit/grants`,
    { currency: 'CNY', amount: '1', reason: 'invoice', grant_id: 'one' },
  ],
  ['PUT', `${tenant}/credit/limit`, { currency: 'CNY', amount: '1', limit_id: 'one' }],
  [
    'PUT',
    `${tenant}/limits`,
    {
      limits: [{ subject: 'user', user_id: 'ann', requests_per_minute: 60, concurrent_tasks: 5 }],
      expected_revision: 1,
    },
  ],
  [
    'PUT',
    `${tenant}/budgets`,
    {
      budgets: [{ subject: 'user', user_id: 'ann', currency: 'CNY', period: 'month', hard: '5' }],
      time_zone: 'UTC',
      expected_revision: 1,
    },
  ],
  [
    'POST',
    '/api/admin/price-books',
    {
      version: '1',
      effective_from: '2027-01-01T00:00:00Z',
      prices: [
        { sku: 'x', currency: 'USD', unit: 'call', per: 1, price: '1', demonstration: true },
      ],
      demonstrations: true,
      confirm: true,
    },
  ],
]

for (const [method, path, body] of managed)
  t.test(`${method} ${path}: a null member is a value, or counts as left out`, async (t) => {
    const token = path.startsWith('/api/user') ? 'pat-one' : 'adm-one'
    for (const at of pathsOf(body)) {
      if (typeof at.at(-1) === 'number') continue
      const { without, withNull } = bothWays(body, at)
      t.strictSame(
        await outcome(method, path, withNull, token),
        await outcome(method, path, without, token),
        inWords(at),
      )
    }
    // Null may be a value here, so a name that means nothing is refused with it too.
    const unknown = await outcome(method, path, { ...body, unheard_of: null }, token)
    t.match(unknown, { answer: /^400 .*unheard_of/ })
  })
