import Fastify from 'fastify'
import t from 'tap'
import type { Principal } from '../../../../src/app/access/principal.ts'
import { createRefusalBound } from '../../../../src/app/spending/throttle/free-requests.ts'
import { requireToken } from '../../../../src/api/kit/tokens/authenticate.ts'
import { usePerCaller } from '../../../../src/api/kit/bounds/per-caller.ts'
import { useEnvelope } from '../../../../src/api/kit/envelope.ts'
import { createRefusedForms } from '../../../../src/api/kit/bounds/refused-forms.ts'
import { v1Envelope } from '../../../../src/api/v1/envelope.ts'
import { openTenants } from '../../support/app.ts'
import { noThrottle } from '../../support/no-throttle.ts'

/** Requests that are refused before their work begins: three a minute of each address and user. */
function routes() {
  const refusedForms = createRefusedForms(createRefusalBound({ nowMs: () => 1_000 }, 3, 1))
  const app = Fastify({ trustProxy: ['127.0.0.1'] })
  usePerCaller(app, {
    tokens: { used: () => undefined },
    throttle: noThrottle,
    files: {},
    http: { refusedForms },
  })
  useEnvelope(app, v1Envelope)
  const authenticate = async (tokenId: string) =>
    tokenId.startsWith('known')
      ? ({
          ok: true,
          principal: {
            tokenId,
            userId: tokenId.split('+')[0],
            tenantId: tokenId,
            kind: 'model',
          } as Principal,
        } as const)
      : ({ ok: false, reason: 'unknown' } as const)
  requireToken(
    app,
    { tokens: { authenticate, tenantAccess: openTenants }, http: { refusedForms } },
    'model',
  )
  const body = { type: 'object', required: ['model'] }
  app.post('/call', { schema: { body } }, () => 'answered')
  return async (token: string | undefined, sent: object | string, forwarded = '203.0.113.7') => {
    const answer = await app.inject({
      method: 'POST',
      url: '/call',
      headers: {
        'content-type': 'application/json',
        'x-forwarded-for': forwarded,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: typeof sent === 'string' ? sent : JSON.stringify(sent),
    })
    if (answer.statusCode === 429) {
      t.ok(Number(answer.headers['retry-after']) >= 1)
      t.match(answer.json(), { error: { code: 'rate_limit_exceeded' } })
    }
    return answer.statusCode
  }
}

const good = { model: 'text-basic' }

t.test('requests without a known token are paced by the address of the caller', async (t) => {
  const ask = routes()
  for (const token of [undefined, 'unknown-1', 'unknown-2']) t.equal(await ask(token, good), 401)
  t.equal(await ask(undefined, good), 429)
  t.equal(await ask('unknown-1', good), 429)
  t.equal(await ask('known', good), 200, 'a token in use goes on')
  t.equal(await ask('unknown-1', good, '203.0.113.8'), 401, 'another address')
  for (const host of ['1', '2', '3']) await ask(undefined, good, `2001:db8:1:2::${host}`)
  t.equal(await ask(undefined, good, '2001:db8:1:2:ffff::9'), 429, 'a /64 is one address')
  t.equal(await ask(undefined, good, '2001:db8:1:3::1'), 401)
})

t.test('requests refused for their form are paced by address and user', async (t) => {
  const ask = routes()
  for (const sent of [{}, '{', '[1']) t.equal(await ask('known', sent), 400)
  t.equal(await ask('known', {}), 429)
  t.equal(await ask('known', good), 429, 'before its body is read')
  t.equal(await ask('known-neighbour', good), 200, 'a neighbour behind the same address')
  t.equal(await ask('known', good, '203.0.113.8'), 200, 'the same user elsewhere')
})

t.test('requests that are read and answered are not counted as refused forms', async (t) => {
  const ask = routes()
  for (let n = 0; n < 20; n += 1) t.equal(await ask('known', good), 200)
  t.equal(await ask('known', {}), 400)
})
