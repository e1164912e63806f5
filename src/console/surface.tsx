import type { FastifyRequest } from 'fastify'
import { useQueryBounds } from '../api/kit/tokens/authenticate.ts'
import type { Envelope } from '../api/kit/envelope.ts'
import type { Mount, Surface } from '../api/kit/routes/surface.ts'
import type { OperationsReads } from '../api/operating/operations.ts'
import type { Queries } from '../api/query/services.ts'
import { createConsoleSessions } from '../app/access/console-sessions.ts'
import { createSignIns } from '../app/spending/throttle/sign-ins.ts'
import type { Clock } from '../kernel/clock.ts'
import { createEntryCodes } from './session/entry-codes.ts'
import { failureOf } from './failure.ts'
import { formRoute } from './form-routes.ts'
import { FORM_BYTES, useForms } from './form-body.ts'
import { guardHeaders, useGuard } from './session/guard.ts'
import { enterHref } from './kit/href.ts'
import { type Reader, renderPage } from './kit/layout.tsx'
import { lookRoutes } from './tenants/view-reason.tsx'
import { pageRoute, sendPage } from './page.tsx'
import { failedPage } from './failures/failed.tsx'
import { lifeActions, lifeForm } from './life/actions.tsx'
import { refundForm } from './life/refund.tsx'
import { historyPage } from './tenants/activity.tsx'
import { findPage } from './life/find.tsx'
import { lifePage } from './life/life.tsx'
import { linePage } from './ledger/line.tsx'
import { linesPage } from './ledger/lines.tsx'
import { movementsPage } from './ledger/movements.tsx'
import { operationsPage } from './operations/operations.tsx'
import { overviewPage } from './overview/overview.tsx'
import { approveForm, proposalPage, proposalsPage, rejectForm } from './proposals/proposals.tsx'
import { statusForm, limitForm } from './tenants/forms.tsx'
import { tenantPage } from './tenants/tenant.tsx'
import { tenantsPage } from './tenants/tenants.tsx'
import { disableForm, rotateForm, tokenPage } from './tenants/token.tsx'
import { pricesPage } from './prices/prices.tsx'
import { bookPage } from './prices/price-book.tsx'
import { ProblemPage, problemTitle } from './problem.tsx'
import { summaryPage } from './ledger/summary.tsx'
import { EnterPage, SignInPage } from './session/sign-in.tsx'
import { requireSession, type SessionDeps, sessionRoutes } from './session/session.ts'
import { assetRoutes } from './static/assets.ts'

/** The console: pages for finance and support, made of what the query API answers. */

const PREFIX = '/console'

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
        path,
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
  },
): Console {
  const codes = createEntryCodes(deps.clock)
  const sessions = createConsoleSessions(deps.db)
  const countSignIn = createSignIns(deps.clock)
  const register: Surface['register'] = async (app, given) => {
    const services = { ...given, queries, operations: deps.operations }
    useGuard(app)
    useForms(app)
    assetRoutes(app)
    sessionRoutes(app, { ...deps, codes, sessions, countSignIn }, signInPages)
    // A context of their own: files and the sign-in have no session.
    await app.register((signedIn, _options, done) => {
      requireSession(signedIn, { ...deps, sessions })
      useQueryBounds(signedIn, services)
      lookRoutes(signedIn, services, sessions)
      pageRoute(signedIn, services, overviewPage)
      pageRoute(signedIn, services, findPage)
      pageRoute(signedIn, services, lifePage)
      pageRoute(signedIn, services, failedPage)
      pageRoute(signedIn, services, linesPage)
      pageRoute(signedIn, services, linePage)
      pageRoute(signedIn, services, summaryPage)
      pageRoute(signedIn, services, movementsPage)
      pageRoute(signedIn, services, pricesPage)
      pageRoute(signedIn, services, bookPage)
      pageRoute(signedIn, services, historyPage)
      pageRoute(signedIn, services, operationsPage)
      pageRoute(signedIn, services, proposalsPage)
      pageRoute(signedIn, services, proposalPage)
      const { lives, proposals, settings, tokens } = services.accounts
      pageRoute(signedIn, services, tenantsPage)
      pageRoute(signedIn, services, tenantPage)
      pageRoute(signedIn, services, tokenPage)
      formRoute(signedIn, services, tenantPage, statusForm(settings))
      formRoute(signedIn, services, tenantPage, limitForm(settings))
      formRoute(signedIn, services, tokenPage, disableForm(tokens))
      formRoute(signedIn, services, tokenPage, rotateForm(tokens))
      formRoute(signedIn, services, proposalPage, approveForm(proposals))
      formRoute(signedIn, services, proposalPage, rejectForm(proposals))
      formRoute(signedIn, services, lifePage, refundForm(services))
      for (const action of lifeActions)
        formRoute(signedIn, services, lifePage, lifeForm(lives, action))
      done()
    })
  }
  return {
    surface: { mount, endpoints: {}, bodies: [], register },
    entryPath: (secret) => enterHref({ code: codes.make(secret) }),
  }
}

const signInPages: Parameters<typeof sessionRoutes>[2] = {
  signIn: (request, reply, next, refused) =>
    sendPage(request, reply.code(refused?.status ?? 200), {
      title: 'Sign in',
      children: <SignInPage next={next} fault={refused?.fault} />,
    }),
  enter: (request, reply, code) =>
    sendPage(request, reply, { title: 'Open', children: <EnterPage code={code} /> }),
}
