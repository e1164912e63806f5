import Fastify from 'fastify'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Principal } from '../../../../src/app/access/principal.ts'
import { requireToken, useQueryBounds } from '../../../../src/api/kit/tokens/authenticate.ts'
import { currentSharer } from '../../../../src/platform/sharer-context.ts'
import { openTenants } from '../../support/app.ts'
import { noRefusedForms, noThrottle } from '../../support/no-throttle.ts'

/** Queries that wait until they are let go. */
async function startQueries() {
  const app = Fastify()
  const running = new Set<() => void>()
  let most = 0
  requireToken(
    app,
    {
      tokens: {
        authenticate: async (tokenId) => ({
          ok: true,
          principal: { tokenId, userId: tokenId.split('-')[0], kind: 'query' } as Principal,
        }),
        tenantAccess: openTenants,
      },
      http: { refusedForms: noRefusedForms },
    },
    'query',
  )
  useQueryBounds(app, { throttle: noThrottle })
  app.get('/query', async () => {
    const user = currentSharer()?.user.split('\n').at(-1)
    await new Promise<void>((resolve) => {
      running.add(resolve)
      most = Math.max(most, running.size)
    })
    return { user }
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return {
    app,
    port,
    running,
    most: () => most,
    ask: (tokenId: string) =>
      fetch(`http://127.0.0.1:${port}/query`, { headers: { authorization: `Bearer ${tokenId}` } }),
    letGo: () => {
      for (const go of running) go()
      running.clear()
    },
  }
}

void t.test(
  'a user runs three queries at once, with any tokens, and does not delay others',
  async (t) => {
    const { app, running, most, ask, letGo } = await startQueries()
    t.teardown(() => app.close())
    const answers = Array.from({ length: 10 }, (_, n) => ask(`busy-${n}`))
    while (running.size < 3) await sleep(1)
    const other = ask('other')
    while (running.size < 4) await sleep(1)
    t.equal(most(), 4)
    letGo()
    t.same(await (await other).json(), { user: 'other' }, 'the query knows its user')
    const isOver = { is: false }
    const all = Promise.all(answers).finally(() => (isOver.is = true))
    while (!isOver.is) {
      t.ok(running.size <= 3)
      letGo()
      await sleep(1)
    }
    for (const answer of await all) t.same(await answer.json(), { user: 'busy' })
  },
)

void t.test('the query slot of a caller who hangs up is free again', async (t) => {
  const { app, port, running, ask, letGo } = await startQueries()
  t.teardown(() => app.close())
  for (let times = 0; times < 4; times += 1) {
    const headers = { authorization: 'Bearer busy' }
    const asked = Array.from({ length: 3 }, () => request({ port, path: '/query', headers }).end())
    for (const one of asked) one.on('error', () => undefined)
    while (running.size < 3) await sleep(1)
    for (const one of asked) one.destroy()
    letGo()
  }
  const answer = ask('busy')
  while (running.size === 0) await sleep(1)
  letGo()
  t.equal((await answer).status, 200)
})
