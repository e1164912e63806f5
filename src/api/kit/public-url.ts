import { DomainError } from '../../kernel/errors.ts'
import { checkPublicUrl, type ResolveHost, type UrlUse } from '../../kernel/public-url.ts'

/**
 * A URL of a request, written the way it was checked. By default it is for upstream to call.
 * @throws DomainError `invalid_request` naming the member
 */
export async function publicUrl(
  url: string,
  param: string,
  resolveHost: ResolveHost,
  use: UrlUse = 'call',
): Promise<string> {
  const verdict = await checkPublicUrl(url, resolveHost, { use })
  if (verdict.ok) return verdict.url
  throw new DomainError('invalid_request', `\`${param}\` ${verdict.reason}`, { param })
}
