/** A place inside that an operator lets webhooks go to, though it is not public or not `https:`. */
export interface TrustedTarget {
  /** The only tenant whose webhooks may go there; undefined: all. */
  readonly tenantId: string | undefined
  readonly origin: string
  /** This path, and all below it if it ends with a slash. */
  readonly path: string
}

const ENTRY = /^(?:([\w.-]+)=)?(https?:\/\/[^/?#@]+)(\/[^?#]*)?$/
/** In a path these may mean another path to the receiver than to the gateway. */
const AMBIGUOUS = /%2f|%5c|%2e|;|\/\//i

/**
 * Reads an operator's entry: `http://alerts.internal:8080/low`, `acme=http://alerts.internal:8080`.
 * An origin alone would open every path inside to every tenant.
 */
export function readTrustedTarget(text: string): TrustedTarget | undefined {
  const [, tenantId, origin = '', path] = ENTRY.exec(text) ?? []
  if (tenantId === undefined && path === undefined) return undefined
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) return undefined
  const said = path ?? '/'
  if (AMBIGUOUS.test(said) || new URL(said, origin).pathname !== said) return undefined
  return { tenantId, origin, path: said }
}

/** Whether the webhooks of a tenant may go there unchecked. */
export function isTrustedTarget(
  targets: readonly TrustedTarget[],
  tenantId: string,
  text: string,
): boolean {
  if (targets.length === 0 || !URL.canParse(text)) return false
  const { origin, pathname, username, password } = new URL(text)
  if (username !== '' || password !== '' || AMBIGUOUS.test(pathname)) return false
  return targets.some(
    (one) =>
      one.origin === origin &&
      (one.tenantId === undefined || one.tenantId === tenantId) &&
      (one.path === pathname || (one.path.endsWith('/') && pathname.startsWith(one.path))),
  )
}
