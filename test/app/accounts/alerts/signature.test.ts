import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { signedHeaders, webhookSecret } from '../../../../src/app/accounts/alerts/signature.ts'

const marker = 'a marker secret of at least thirty-two characters'
const message = (body: string) => ({
  id: 'alert_1_1',
  timestampS: Math.floor(Date.now() / 1_000),
  body,
})

t.test('libraries of Standard Webhooks accept the signed alerts', async (t) => {
  const secret = webhookSecret(marker, 'tenant_1', 1)
  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  for (const body of ['{}', '{"name":"Zoë 🐢"}', '{"a.b":"."}']) {
    const headers = signedHeaders(message(body), [secret])
    t.same(new Webhook(secret).verify(body, headers), JSON.parse(body))
    t.throws(() => new Webhook(secret).verify(`${body} `, headers), /signature/)
    t.throws(() => new Webhook(secret).verify(body, { ...headers, 'webhook-id': 'alert_1_2' }))
  }
})

t.test('the signature is an HMAC-SHA256 over id, time and body', (t) => {
  const key = Buffer.from('a key of thirty-two bytes, no less')
  const secret = `whsec_${key.toString('base64')}`
  const headers = signedHeaders({ id: 'msg_1', timestampS: 1_767_323_045, body: '{"é":1}' }, [
    secret,
  ])
  const expected = createHmac('sha256', key).update('msg_1.1767323045.{"é":1}').digest('base64')
  t.same(headers, {
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1767323045',
    'webhook-signature': `v1,${expected}`,
  })
  t.end()
})

t.test(
  'each tenant and version has a separate secret; either of two signatures is accepted',
  async (t) => {
    const secrets = [
      webhookSecret(marker, 'tenant_1', 1),
      webhookSecret(marker, 'tenant_1', 2),
      webhookSecret(marker, 'tenant_2', 1),
      webhookSecret(`${marker}!`, 'tenant_1', 1),
    ]
    t.equal(new Set(secrets).size, secrets.length)
    const headers = signedHeaders(message('{}'), secrets.slice(0, 2))
    for (const secret of secrets.slice(0, 2)) t.ok(new Webhook(secret).verify('{}', headers))
    for (const secret of secrets.slice(2))
      t.throws(() => new Webhook(secret).verify('{}', headers), /signature/)
  },
)
