import type { FastifyRequest } from 'fastify'
import { useQueryBounds } from '../api/kit/tokens/authenticate.ts'
import type { Envelope } from '../api/kit/envelope.ts'
import type { Mount, Surface } from '../api/kit/routes/surface.ts'
import type { OperationsReads } from '../api/operating/operations.ts'
import type { Queries } from '../api/query/services.ts'
import { createConsoleSessions } from '../app/access/console-sessions.ts'
import { recallSessions } from '../app/access/recalled-sessions.ts'
import type { ClaimTokens } from '../app/accounts/claim-tokens.ts'
import { createSignIns } from '../app/spending/throttle/sign-ins.ts'
import type { Clock } from '../kernel/clock.ts'
import { byNameRoutes } from './session/by-name.ts'
import { createEntryCodes } from './session/entry-codes.ts'
import { failureOf } from './failure.ts'
import { FORM_BYTES, useForms } from './form-body.ts'
import { guardHeaders, useGuard } from './session/guard.ts'
import { enterHref, zoneIn } from './kit/href.ts'
import { type Reader, renderPage } from './kit/layout.tsx'
import { sendPage } from './page.tsx'
import { changes } from './changes/routes.ts'
import { failures } from './failures/routes.ts'
import { ledger } from './ledger/routes.ts'
import { life } from './life/routes.ts'
import { operations } from './operations/routes.ts'
import { overview } from './overview/routes.ts'
import { periods } from './periods/routes.ts'
import { prices } from './prices/routes.ts'
import { proposals } from './proposals/routes.ts'
import { savedViews } from './saved-views/routes.ts'
import { tenants } from './tenants/routes.ts'
import { ProblemPage, problemTitle } from './problem.tsx'
import { createProvider, type ProviderSettings } from './session/provider.ts'
import { ChooseAccessPage, EnterPage, SignInPage } from './session/sign-in.tsx'
import { requireSession, type SessionDeps, sessionRoutes } from './session/session.ts'
import { openSessionRoutes } from './session/open-sessions.tsx'
import { assetRoutes } from './static/assets.ts'
import { placesFor, type Subject } from './subject.ts'

/** The console: pages for finance and support, made of what the query API answers. */

const PREFIX = '/console'

/** The subjects of the console, in the order of their places in the head. A new subject is a folder and a line here. */
export const subjects: readonly Subject[] = [
  overview,
  ledger,
  periods,
  prices,
  life,
  failures,
  proposals,
  changes,
  tenants,
  operations,
  savedViews,
]

/** Shows a failure as a page, in the words that the API has for it. */
function envelopeFor(path: string, reader: Reader | undefined): Envelope {
  return (error, requestId) => {
    const { status, headers, message } = failureOf(error, requestId)
    const problem = { status, message, requestId }
    return {
      status,
      headers: { ...headers, ...guardHeaders, 'content-type': 'text/html; charset=utf-8' },
      body: renderPage({
        title: problemTitle(problem),
        path: path.split('?', 1)[0] ?? '',
        tz: zoneIn(path),
        reader,
        children: <ProblemPage problem={problem} />,
      }),
    }
  }
}

const mount: Mount = {
  prefix: PREFIX,
  envelopeOf: (url) => envelopeFor(url, undefined),
  readEnvelopeOf: (request: FastifyRequest) => envelopeFor(request.url, request.reader),
  bodyBytes: FORM_BYTES,
  isOpen: true,
}

/** The console of a gateway. */
export interface Console {
  readonly surface: Surface
  /** A path that signs in once with the secret of a token, within five minutes. */
  readonly entryPath: (secret: string) => string
}

/** Opens the console over what the gateway reads and how it checks tokens. */
export function createConsole(
  queries: Queries,
  deps: Omit<SessionDeps, 'codes' | 'sessions' | 'countSignIn'> & {
    readonly clock: Clock
    readonly operations: OperationsReads
    /** Undefined: people sign in with tokens alone. */
    readonly oidc: ProviderSettings | undefined
    readonly claimTokens: ClaimTokens | undefined
  },
): Console {
  const codes = createEntryCodes(deps.clock)
  const sessions = recallSessions(createConsoleSessions(deps.db), deps.clock)
  const countSignIn = createSignIns(deps.clock)
  const provider = deps.oidc && createProvider(deps.oidc)
  const register: Surface['register'] = async (app, given) => {
    const pages = new Map<string, ReadonlySet<string>>()
    const services = { ...given, queries, operations: deps.operations, sessions, pages }
    useGuard(app)
    useForms(app)
    assetRoutes(app)
    const shown = signInPages(provider?.host)
    const signingIn = { ...deps, sessions, countSignIn }
    sessionRoutes(app, { ...signingIn, codes }, shown)
    if (provider !== undefined) byNameRoutes(app, { ...signingIn, provider }, shown)
    // A context of their own: files and the sign-in have no session.
    await app.register((signedIn, _options, done) => {
      requireSession(signedIn, { ...deps, sessions }, (token, isRecalled) =>
        placesFor(subjects, services, token, isRecalled),
      )
      useQueryBounds(signedIn, services)
      openSessionRoutes(signedIn, services)
      for (const subject of subjects) subject.register(signedIn, services)
      done()
    })
  }
  return {
    surface: { mount, endpoints: {}, bodies: [], register },
    entryPath: (secret) => enterHref({ code: codes.make(secret) }),
  }
}

const signInPages = (
  providerHost: string | undefined,
): Parameters<typeof sessionRoutes>[2] & Parameters<typeof byNameRoutes>[2] => ({
  signIn: (request, reply, next, refused) =>
    sendPage(request, reply.code(refused?.status ?? 200), {
      title: 'Sign in',
      children: <SignInPage next={next} fault={refused?.fault} providerHost={providerHost} />,
    }),
  choose: (request, reply, subject, choices) =>
    sendPage(request, reply, {
      title: 'Choose',
      children: <ChooseAccessPage subject={subject} choices={choices} />,
    }),
  enter: (request, reply, code) =>
    sendPage(request, reply, { title: 'Open', children: <EnterPage code={code} /> }),
})
