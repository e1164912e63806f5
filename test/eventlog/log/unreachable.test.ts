import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import { reasonInWords } from '../../../src/eventlog/log/errors.ts'
import { whyUndiscovered } from '../../../src/eventlog/log/unreachable.ts'

/** Why an event store cannot be reached, in words. */

/** A port that answers as a web server would. */
async function plainPort(t: Test): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

t.test('a call says why it did not reach the store', async (t) => {
  const plain = await plainPort(t)
  for (const [hosts, why] of [
    ['esdb://nowhere.invalid:2113?tls=false', 'the host nowhere.invalid:2113 is not known'],
    ['esdb://127.0.0.1:1?tls=false', '127.0.0.1:1 refuses connections'],
    [`esdb://127.0.0.1:${plain}`, /asks for TLS and the port does not speak it: set tls=false/],
    [`esdb://127.0.0.1:${plain}?tls=false`, /does not answer without TLS: remove tls=false/],
    ['esdb+discover://127.0.0.1:1?tls=false', '127.0.0.1:1 refuses connections'],
  ] as const) {
    const limits = { readDeadlineMs: 3_000, readTryMs: 1_000 }
    const log = createEventLog({ url: hosts, namespace: 't.', limits })
    const failure = await log.checkAccess().catch((error: unknown) => error)
    t.match(failure, { code: 'log_unavailable', details: { reason: why } }, hosts)
    await log.close()
  }
})

t.test('each host of a cluster is asked, and a single host is not', async (t) => {
  const plain = await plainPort(t)
  const found = await whyUndiscovered(`esdb://nowhere.invalid:1,127.0.0.1:${plain}?tls=true`)
  t.match(found, /^the host nowhere\.invalid:1 is not known; the URL asks for TLS and/)
  t.equal(await whyUndiscovered('esdb://127.0.0.1:1?tls=false'), undefined)
})

t.test('a certificate that is not trusted names what to set; other words stay', async (t) => {
  t.match(
    reasonInWords('Last error: self-signed certificate'),
    /\(self-signed certificate\).*tlsCAFile/,
  )
  t.equal(reasonInWords('it was closed'), 'it was closed')
})
