import type {
  ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  CustomFetch,
} from 'openid-client'
import { isSubject, subjectNamed } from '../../domain/token/subject.ts'
import { memoizeFor } from '../../platform/memoize.ts'

/**
 * The provider of OpenID Connect that says who a person is: code flow with PKCE, state and nonce. Each of its answers
 * is bounded in time and size. It is asked for the first time when a person signs in, so that a start does not wait for it.
 */

/** How the gateway is known to the provider. */
export interface ProviderSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** What is asked for, with blanks between. */
  readonly scope: string
  /** The claim that names the person. */
  readonly claim: string
  /** The claim whose values give the person a role; undefined: it is not read. */
  readonly roleClaim?: string | undefined
}

/** A person, as the provider says it. */
export interface Person {
  readonly subject: string
  /** Values of the claim that gives roles. */
  readonly roleValues: readonly string[]
}

/** A sign-in that has begun: an answer of the provider is taken for it alone. */
export interface BegunSignIn {
  readonly state: string
  readonly nonce: string
  /** The secret of PKCE, of which the provider has the hash. */
  readonly verifier: string
}

export interface Provider {
  /** The host of the provider, for people. */
  readonly host: string
  /** A secret that all replicas share with it. */
  readonly secret: string
  /** The address at which a person signs in, who is sent back to `callback`. @throws ProviderFault */
  readonly begin: (
    callback: string,
  ) => Promise<{ readonly href: string; readonly begun: BegunSignIn }>
  /** Says who has come back to `callback` with an answer. @throws ProviderFault */
  readonly finish: (callback: URL, begun: BegunSignIn) => Promise<Person>
}

const faultWords = {
  away: 'The provider of the sign-in does not answer as it should at the moment. Try again, or sign in with a token.',
  busy: 'Too many people are signing in at the moment. Try again in a few seconds, or sign in with a token.',
  denied: 'The provider did not sign you in. Try again, or ask the people who run it.',
  invalid: 'The answer of the provider is not valid for this sign-in. Begin again.',
  unverified: 'The provider has not verified your address of e-mail.',
  nameless: 'The provider does not say who you are: the claim of OIDC_CLAIM is missing.',
} as const

/** A sign-in that failed at the provider. Its message is for people; `detail` is for the log and holds no secret. */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault'
  readonly kind: keyof typeof faultWords
  readonly detail: string
  constructor(kind: keyof typeof faultWords, detail = '') {
    super(faultWords[kind])
    this.kind = kind
    this.detail = detail
  }
}

/** The longest wait for one answer of the provider, of which a sign-in takes up to four. */
const ANSWER_WAIT_S = 5
const MAX_ANSWER_BYTES = 256 * 1024
/** What the provider says of itself is asked for again after this. */
const METADATA_MS = 600_000
/** Sign-ins that wait for the provider at once; more are refused. */
const MAX_WAITING = 20

/** Statuses whose answers have no body. */
const bodiless: ReadonlySet<number> = new Set([101, 103, 204, 205, 304])

/** Asks, and reads the whole answer up to its bound. @throws ProviderFault for a longer one */
const boundedFetch: CustomFetch = async (url, { body, ...options }) => {
  const answer = await fetch(url, { ...options, ...(body === undefined ? {} : { body }) })
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of answer.body ?? []) {
    size += part.length
    if (size > MAX_ANSWER_BYTES) throw new ProviderFault('away', 'an answer is too long')
    parts.push(part)
  }
  const { status, headers } = answer
  return new Response(bodiless.has(status) ? null : Buffer.concat(parts), { status, headers })
}

const isLoopback = ({ hostname }: URL): boolean =>
  /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)

/** Whether an address of the provider can be used: https, and for one on this machine http as well. */
function isFit(address: string | undefined, issuer: URL): boolean {
  if (address === undefined || !URL.canParse(address)) return false
  const { protocol } = new URL(address)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(issuer))
}

/** Sends the secret as the provider takes it. */
function secretOf(
  client: {
    readonly ClientSecretBasic: typeof ClientSecretBasic
    readonly ClientSecretPost: typeof ClientSecretPost
  },
  secret: string,
): ClientAuth {
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)]
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported
    const isBasic = methods === undefined || methods.includes('client_secret_basic')
    return isBasic ? basic(server, ...request) : post(server, ...request)
  }
}

async function discover(settings: ProviderSettings, timeout: number): Promise<Configuration> {
  const client = await import('openid-client')
  const issuer = new URL(settings.issuer)
  const found = await client.discovery(
    issuer,
    settings.clientId,
    settings.clientSecret,
    secretOf(client, settings.clientSecret),
    {
      [client.customFetch]: boundedFetch,
      timeout,
      // The signature of an ID token is verified too, and not only the connection that it came by.
      execute: [
        client.enableNonRepudiationChecks,
        ...(isLoopback(issuer) ? [client.allowInsecureRequests] : []),
      ],
    },
  )
  const server = found.serverMetadata()
  // The library lets an issuer pass that stands for all tenants of its provider: anyone could sign in.
  if (new URL(server.issuer).href !== issuer.href)
    throw new ProviderFault('away', 'the provider calls itself by another issuer')
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const)
    if (!isFit(server[name], issuer)) throw new ProviderFault('away', `${name} is no https address`)
  return found
}

/** What the provider says of a person. */
type Claims = Readonly<Record<string, unknown>>

const isVerified = ({ email_verified: verified }: Claims): boolean =>
  // Some providers write it as a text.
  verified === true || verified === 'true'

/** @throws ProviderFault where the claim is missing, or is an address that was not verified */
function subjectIn(claims: Claims, claim: string): string {
  const value = claims[claim]
  if (typeof value !== 'string' || !isSubject(value)) throw new ProviderFault('nameless', claim)
  if (claim === 'email' && !isVerified(claims)) throw new ProviderFault('unverified')
  return subjectNamed(value)
}

/** Whether the claims say who it is; others may be at the address for facts of the person. */
const isEnough = (claims: Claims, claim: string): boolean =>
  claims[claim] !== undefined && (claim !== 'email' || claims['email_verified'] !== undefined)

/** Values of a claim that is a text or a list of texts; every other one has none. */
function valuesIn(claims: Claims, claim: string): readonly string[] {
  const value = claims[claim]
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  return values.filter((one) => typeof one === 'string')
}

/** The fault that an error of the library or of the network stands for. */
function faultOf(error: unknown): ProviderFault {
  if (error instanceof ProviderFault) return error
  if (!(error instanceof Error)) return new ProviderFault('away', 'unknown')
  const { cause } = error
  if (cause instanceof ProviderFault) return cause
  const code: unknown = Reflect.get(error, 'code')
  const isOurs = typeof code === 'string' && code.startsWith('OAUTH_')
  // Only codes and our own words: the cause of an error may hold what was sent.
  const given: unknown = Reflect.get(error, 'error')
  const detail = [error.name, code, given]
    .filter((word) => typeof word === 'string')
    .filter((word) => /^\w{1,60}$/.test(word))
    .join(' ')
  if (error.name === 'AuthorizationResponseError') return new ProviderFault('denied', detail)
  if (error.name === 'ResponseBodyError') return new ProviderFault('invalid', detail)
  return new ProviderFault(isOurs ? 'invalid' : 'away', detail)
}

async function personOf(
  config: Configuration,
  callback: URL,
  { state, nonce, verifier }: BegunSignIn,
  { claim, roleClaim }: Pick<ProviderSettings, 'claim' | 'roleClaim'>,
): Promise<Person> {
  const client = await import('openid-client')
  const tokens = await client.authorizationCodeGrant(config, callback, {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  if (claims === undefined) throw new ProviderFault('invalid', 'no ID token')
  const saysWho = isEnough(claims, claim)
  const saysRole = roleClaim === undefined || claims[roleClaim] !== undefined
  const isAsked = !(saysWho && saysRole) && config.serverMetadata().userinfo_endpoint !== undefined
  const facts = isAsked
    ? await client.fetchUserInfo(config, tokens.access_token, claims.sub)
    : claims
  // A name and whether it is verified are from one place.
  const subject = subjectIn(saysWho ? claims : facts, claim)
  const roleValues = roleClaim === undefined ? [] : valuesIn(saysRole ? claims : facts, roleClaim)
  return { subject, roleValues }
}

/** Opens the way to a provider, which is not asked before the first sign-in. */
export function createProvider(settings: ProviderSettings, answerWaitS = ANSWER_WAIT_S): Provider {
  const config = memoizeFor(METADATA_MS, async () => {
    try {
      return await discover(settings, answerWaitS)
    } catch (error) {
      throw new ProviderFault('away', faultOf(error).detail)
    }
  })
  let waiting = 0
  const bounded = async <T>(ask: () => Promise<T>): Promise<T> => {
    if (waiting >= MAX_WAITING) throw new ProviderFault('busy')
    waiting += 1
    try {
      return await ask()
    } catch (error) {
      throw faultOf(error)
    } finally {
      waiting -= 1
    }
  }
  return {
    host: new URL(settings.issuer).host,
    secret: settings.clientSecret,
    begin: (callback) =>
      bounded(async () => {
        const client = await import('openid-client')
        const begun = {
          state: client.randomState(),
          nonce: client.randomNonce(),
          verifier: client.randomPKCECodeVerifier(),
        }
        const address = client.buildAuthorizationUrl(await config(), {
          redirect_uri: callback,
          scope: settings.scope,
          state: begun.state,
          nonce: begun.nonce,
          code_challenge: await client.calculatePKCECodeChallenge(begun.verifier),
          code_challenge_method: 'S256',
        })
        return { href: address.href, begun }
      }),
    finish: (callback, begun) =>
      bounded(async () => personOf(await config(), callback, begun, settings)),
  }
}
