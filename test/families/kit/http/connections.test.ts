import t from 'tap'
import {
  bearerHeaders,
  keyHeaders,
  tokenHeaders,
} from '../../../../src/families/kit/http/connections.ts'

t.test(
  'a credential is sent in the usual header, or in the one that the channel names',
  async (t) => {
    const channel = { credential: 'secret-1' }
    t.same(bearerHeaders(channel), { authorization: 'Bearer secret-1' })
    t.same(tokenHeaders(channel), { authorization: 'Token secret-1' })
    t.same(keyHeaders(channel), { 'x-goog-api-key': 'secret-1' })
    const named = { ...channel, credentialHeader: 'x-api-key' }
    for (const headersOf of [bearerHeaders, tokenHeaders, keyHeaders])
      t.same(headersOf(named), { 'x-api-key': 'secret-1' })
  },
)

t.test('a channel without a credential sends no header for one', async (t) => {
  for (const headersOf of [bearerHeaders, tokenHeaders, keyHeaders]) t.same(headersOf({}), {})
})
