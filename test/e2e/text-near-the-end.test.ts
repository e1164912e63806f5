import t from 'tap'
import { addUser, issueToken, openTenant } from '../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { sharedStack } from '../helpers/stack.ts'
import { type Answer, call } from './support/client.ts'

const stack = await sharedStack(t)
const { access, url } = stack
const { pool } = stack.gateway

const AT_ONCE = 200
/**
 * Tokens of a conversation by the provider's count, and the credit it is begun with. The usage of a whole
 * answer is known when it is named; a stream is named before, and then the most it could be counts.
 */
const begun = [
  { by: 'a whole answer', stream: false, tokens: 8_000, credit: 0.15 },
  { by: 'a stream', stream: true, tokens: 8_000, credit: 0.15 },
] as const

async function tenantWith(amount: string): Promise<{ tenantId: string; token: string }> {
  const { tenantId } = await openTenant(access, { name: 'near its end' })
  const { userId } = await addUser(access, { tenantId, name: 'Ann' })
  await grantCredit(access, { tenantId, currency: 'USD', amount, reason: 'to begin with' })
  const issued = await issueToken(access, { tenantId, userId, kind: 'model', name: 'one' })
  await stack.caughtUp()
  return { tenantId, token: issued.secret }
}

const respond = (token: string, body: object): Promise<Answer> =>
  call(`${url}/v1/responses`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', max_output_tokens: 16, ...body }),
  })

async function leftOf(tenantId: string): Promise<number> {
  await stack.caughtUp()
  const { rows } = await pool.query<{ left: string }>(
    `select granted + adjusted - settled as left from ledger.balances
     where tenant_id = $1 and currency = 'USD'`,
    [tenantId],
  )
  return Number(rows[0]?.left)
}

const counted = (answers: readonly Answer[]) => {
  const of = (status: number) => answers.filter((answer) => answer.status === status).length
  return { answered: of(200), refused: of(402) }
}

for (const { by, stream, tokens, credit } of begun)
  await t.test(
    `a conversation begun by ${by} and continued ${AT_ONCE} times at once costs at most the balance`,
    async (t) => {
      const { tenantId, token } = await tenantWith(String(credit))
      const asked = { input: `[[sandbox tokens=${tokens}]] Tell me all`, stream }
      const first = await respond(token, { ...asked, max_output_tokens: 8_192 })
      t.equal(first.status, 200)
      const [id] = /resp_[A-Za-z0-9_-]+/.exec(first.text) ?? []
      const input = '[[sandbox tokens=4 first-byte-ms=500]] and then?'
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, () => respond(token, { input, previous_response_id: id })),
      )
      const { answered, refused } = counted(answers)
      const left = await leftOf(tenantId)
      t.comment(`${answered} answered, ${refused} refused, ${left} USD left of ${credit}`)
      t.equal(answered + refused, AT_ONCE)
      t.ok(left >= 0, `one replica overspends by nothing, and ${left} is left`)
      t.ok(left < credit / 2, 'the balance was there to be spent')
    },
  )

await t.test(`${AT_ONCE} images by URL at once cost at most the balance`, async (t) => {
  const { tenantId, token } = await tenantWith('0.05')
  const image = { type: 'input_image', image_url: 'https://media.example.com/a.png' }
  const text = { type: 'input_text', text: '[[sandbox tokens=4 first-byte-ms=500]] what is it?' }
  const input = [{ role: 'user', content: [text, ...Array.from({ length: 8 }, () => image)] }]
  const answers = await Promise.all(
    Array.from({ length: AT_ONCE }, () => respond(token, { input })),
  )
  const { answered, refused } = counted(answers)
  const left = await leftOf(tenantId)
  t.comment(`${answered} answered, ${refused} refused, ${left} USD left of 0.05`)
  t.equal(answered + refused, AT_ONCE)
  t.ok(left >= 0, `${left}`)
})
