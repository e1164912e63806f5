import pino from 'pino'
import t from 'tap'
import type { Refusals } from '../../../../src/app/support/refusals.ts'
import { startApp } from '../../support/app.ts'
import { creations } from '../../support/creations.ts'
import { changed, inWords, pathsOf } from '../../support/odd-bodies.ts'

/** Failed answers are counted, over the whole HTTP interface. */

type Refusal = Parameters<Refusals['count']>[0]

const counted: Refusal[] = []
const { app } = await startApp({
  logger: pino({ level: 'silent' }),
  tokens: { refused: (refusal) => void counted.push(refusal) },
})
t.teardown(() => app.close())

async function refusalsOf(
  url: string,
  secret: string | undefined,
  payload?: object | string,
): Promise<readonly Refusal[]> {
  counted.length = 0
  const answer = await app.inject({
    method: payload === undefined ? 'GET' : 'POST',
    url,
    headers: {
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(payload === undefined ? {} : { payload }),
  })
  for (const { requestId } of counted)
    if (requestId !== answer.headers['x-request-id']) throw new Error('another request')
  return [...counted]
}

const chat = '/v1/chat/completions'
const owner = { tenantId: 'tenant_1', userId: 'user_1' }

t.test('a failed answer to a known token is counted once, with its route and code', async (t) => {
  const body = { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }
  t.same(await refusalsOf(chat, 'sk-one', body), [], 'a success')
  for (const [url, secret, payload, expected] of [
    [chat, 'sk-one', '{', { route: `POST ${chat}`, code: 'body_invalid' }],
    [chat, 'sk-one', { ...body, n: 'x' }, { param: 'n' }],
    [chat, 'sk-one', { ...body, messages: [{ role: 5 }] }, { param: /^messages/ }],
    [chat, 'qak-all', body, { code: 'wrong_token_kind' }],
    [chat, 'sk-bound', body, { code: 'address_not_allowed' }],
    [chat, 'sk-expired', body, { code: 'unauthenticated', token: { tokenId: 'tok_expired' } }],
    [chat, 'sk-disabled', body, { code: 'unauthenticated', token: { tokenId: 'tok_disabled' } }],
    ['/v1/videos/video_none', 'sk-one', undefined, { route: 'GET /v1/videos/:id' }],
    ['/api/query/v1/logs?page=0', 'qak-all', undefined, { param: 'page' }],
  ] as const) {
    const found = await refusalsOf(url, secret, payload)
    t.equal(found.length, 1, `${url} ${secret}`)
    t.match(found, [{ token: owner, ...expected }], `${url} ${secret}`)
  }
})

t.test(
  'a secret that is unknown or could not be looked up, and an unknown route, count nowhere',
  async (t) => {
    for (const [url, secret] of [
      [chat, undefined],
      [chat, 'sk-unknown'],
      [chat, 'sk-guess'],
      [chat, 'sk-away'],
      [chat, 'no token at all'],
      ['/v1/none', 'sk-one'],
      ['/none', 'sk-one'],
    ] as const)
      t.same(await refusalsOf(url, secret, {}), [], `${url} ${secret}`)
  },
)

const CANARY = 'canary-7f3a'

t.test('nothing of a body is in a count (P7)', async (t) => {
  let refused = 0
  for (const [name, { path, bodies }] of Object.entries(creations))
    for (const body of bodies)
      for (const at of pathsOf(body)) {
        const bent = [
          changed(body, at, (holder, last) => void (holder[last] = CANARY)),
          changed(body, at, (holder, last) => void (holder[last] = { [CANARY]: CANARY })),
          changed(body, at, (holder, last) => void (holder[last] = [CANARY, { [CANARY]: 1 }])),
          changed(body, at, (holder, last) => {
            holder[`${String(last)}${CANARY}`] = holder[last]
            Reflect.deleteProperty(holder, last)
          }),
        ]
        for (const one of bent) {
          const found = await refusalsOf(path, 'sk-one', one)
          refused += found.length
          if (JSON.stringify(found).includes('canary')) t.fail(`${name} ${inWords(at)}`)
        }
      }
  t.ok(refused > 1_000, `${refused} refusals`)
  for (const query of [`${CANARY}=1`, `tz=${CANARY}`, `cursor=${CANARY}`, `model=${CANARY}&from=x`])
    t.notMatch(
      JSON.stringify(await refusalsOf(`/api/query/v1/usage?${query}`, 'qak-all')),
      /canary/,
      query,
    )
})
