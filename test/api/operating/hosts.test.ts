import { Registry } from 'prom-client'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { readyOperations } from '../support/operations.ts'

void t.test('403 for a Host that is a name which was not configured', async (t) => {
  const operationsHosts = ['gateway.internal']
  const metrics = new Registry()
  const { app: callers } = await startApp({ operationsHosts })
  const operations = await readyOperations({ metrics, operationsHosts })
  t.teardown(async () => Promise.all([callers.close(), operations.close()]))
  const statuses = async (host: string) => [
    (await callers.inject({ url: '/metrics', headers: { host } })).statusCode,
    (await operations.inject({ url: '/metrics', headers: { host } })).statusCode,
    (await operations.inject({ url: '/readyz', headers: { host } })).statusCode,
  ]
  for (const host of [
    '127.0.0.1:9090',
    '10.1.2.3',
    '[::1]:9090',
    'localhost',
    'LOCALHOST:9090',
    'gateway.internal:9090',
    'Gateway.Internal',
  ])
    t.same(await statuses(host), [200, 200, 200], host)
  for (const host of [
    'rebound.example',
    'rebound.example:9090',
    'localhost.rebound.example',
    '127.0.0.1.rebound.example',
    'internal',
    'a b',
  ])
    t.same(await statuses(host), [403, 403, 403], host)
  const refused = await operations.inject({ url: '/x', headers: { host: 'rebound.example' } })
  t.same(refused.json(), {
    error: {
      code: 'address_not_allowed',
      message:
        'Host rebound.example is neither an IP address nor localhost; OPERATIONS_HOSTS names further ones',
    },
  })
  const headers = { host: 'rebound.example' }
  t.equal((await callers.inject({ url: '/healthz', headers })).statusCode, 200)
})
