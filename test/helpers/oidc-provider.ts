import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import OidcProvider, { type Configuration } from 'oidc-provider'

/** A provider of OpenID Connect that signs in whom a test names, without asking. */

/** A person at the provider. */
export interface Person {
  readonly email: string
  readonly email_verified?: boolean
  readonly groups?: unknown
}

export interface TestProvider {
  readonly settings: {
    readonly issuer: string
    readonly clientId: string
    readonly clientSecret: string
    readonly scope: string
    readonly claim: string
  }
  /** Lets people come back to a gateway. */
  readonly serve: (callback: string) => void
  /** Who signs in next. */
  person: Person
  /** Answers instead of the provider where it returns true. */
  override: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  /** Goes from an address of the provider to the one at which it sends the person back. */
  readonly signIn: (href: string) => Promise<string>
  readonly stop: () => Promise<void>
}

const CLIENT_SECRET = 'a-secret-that-the-gateway-shares-with-it'

/** Which claims the provider has of its people. */
function configurationOf(callback: string, personNow: () => Person): Configuration {
  return {
    clients: [{ client_id: 'tollgate', client_secret: CLIENT_SECRET, redirect_uris: [callback] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified', 'groups'] },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    cookies: { keys: ['a key of cookies'] },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, email_verified: true, ...personNow() }),
    }),
    loadExistingGrant: async ({ oidc }) => {
      const { client, session, params } = oidc
      const grant = new oidc.provider.Grant({
        clientId: client?.clientId ?? '',
        accountId: session?.accountId ?? '',
      })
      grant.addOIDCScope(String(params?.['scope']))
      await grant.save()
      return grant
    },
  }
}

/** Starts a provider on a free port; it answers once `serve` has named the gateway. */
export async function startOidcProvider(): Promise<TestProvider> {
  let answer = (_request: IncomingMessage, response: ServerResponse): unknown =>
    response.writeHead(503).end()
  const server = createServer((request, response) => {
    if (provider.override?.(request, response) !== true) answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider: TestProvider = {
    settings: {
      issuer,
      clientId: 'tollgate',
      clientSecret: CLIENT_SECRET,
      scope: 'openid email',
      claim: 'email',
    },
    person: { email: 'mia@example.com' },
    override: undefined,
    serve: (callback) => {
      const oidc = new OidcProvider(
        issuer,
        configurationOf(callback, () => provider.person),
      )
      const own = oidc.callback()
      answer = (request, response) =>
        request.url?.startsWith('/interaction/')
          ? oidc.interactionFinished(request, response, {
              login: { accountId: `account of ${provider.person.email}` },
            })
          : own(request, response)
    },
    signIn: async (href) => {
      const cookies = new Map<string, string>()
      let at = new URL(href)
      for (let steps = 0; at.origin === issuer && steps < 10; steps += 1) {
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
        const { headers, status } = await fetch(at, { redirect: 'manual', headers: { cookie } })
        for (const set of headers.getSetCookie()) {
          const [name = '', value = ''] = set.split(';', 1)[0]?.split('=') ?? []
          cookies.set(name, value)
        }
        const next = headers.get('location')
        if (next === null) throw new Error(`the provider answers ${status} at ${at.pathname}`)
        at = new URL(next, at)
      }
      return at.href
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return provider
}
