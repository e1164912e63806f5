import { buildConnector, Client } from 'undici'
import { FetchFault, type PostOut } from '../../../kernel/public-fetch.ts'
import { checkPublicUrl } from '../../../kernel/public-url.ts'
import { CONNECT_TIMEOUT_MS } from './exchange.ts'
import { faultOf, fixedLookup, MAX_HEADER_BYTES, type PublicFetchDeps } from './public-fetch.ts'

export interface PostOutDeps extends PublicFetchDeps {
  /** Origins, such as `http://alerts.internal:8080`, whose addresses are not judged. */
  readonly trustedOrigins?: readonly string[]
}

/** Every message has a connection of its own, which ends with the status. */
export function createPostOut({
  resolveHost,
  locate = (address) => address,
  trustedOrigins = [],
}: PostOutDeps): PostOut {
  return async (target, { headers, body, timeoutMs, signal }) => {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const isTrusted = URL.canParse(target) && trustedOrigins.includes(new URL(target).origin)
    const verdict = isTrusted ? undefined : await checkPublicUrl(target, resolveHost)
    if (verdict?.ok === false) throw new FetchFault('not_public', verdict.reason)
    const url = new URL(verdict?.url ?? target)
    const lookup = verdict && { lookup: fixedLookup(verdict.addresses.map(locate)) }
    const client = new Client(url.origin, {
      connect: buildConnector({ timeout: CONNECT_TIMEOUT_MS, autoSelectFamily: true, ...lookup }),
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: 0,
    })
    try {
      const path = `${url.pathname}${url.search}`
      const sent = { 'user-agent': 'tollgate', ...headers }
      const answer = await client.request({
        method: 'POST',
        path,
        headers: sent,
        body,
        signal: deadline,
      })
      // Nobody reads it.
      answer.body.on('error', () => undefined)
      return answer.statusCode
    } catch (error) {
      throw faultOf(error, signal, deadline)
    } finally {
      await client.destroy()
    }
  }
}
