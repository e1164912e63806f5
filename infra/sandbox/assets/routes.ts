import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { guarded, pageIn, pageOf } from '../control.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { NO_FAULTS } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { queryOf, runOnWire } from '../http/wire.ts'
import { addActions, FAMILY } from './actions.ts'
import { MEDIA_PATH, mediaAnswer } from './body.ts'
import { brokenPage, checkPage, deadLinkPage, languageOf, redirect } from './page.ts'
import { PAGE_PATH, Sessions } from './sessions.ts'
import { libraryViews } from './view.ts'

const NO_SUBJECT = { id: null, model: null, clientMarker: null, safetyIdentifier: null }

/** What is open to whoever has the address. */
function addOpenRoutes(app: FastifyInstance, kit: FamilyKit, sessions: Sessions): void {
  const handler =
    (op: string, perform: (request: FastifyRequest) => Answer | Promise<Answer>) =>
    (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const language = languageOf(queryOf(request))
      const wire = {
        family: FAMILY,
        refused: () => null,
        refusal: () => brokenPage(language, 400),
        failure: (status: number) => brokenPage(language, status),
      }
      const call = { op, subject: NO_SUBJECT, promptFaults: NO_FAULTS }
      return runOnWire(kit, wire, { ...call, perform: () => perform(request) }, request, reply)
    }

  app.get(
    PAGE_PATH,
    handler('page', (request) => {
      const query = queryOf(request)
      const session = sessions.open(query.get('token') ?? '')
      const language = languageOf(query)
      return typeof session === 'string' ? deadLinkPage(language, session) : checkPage(language)
    }),
  )
  app.post(
    PAGE_PATH,
    handler('page-submit', async (request) => {
      const query = queryOf(request)
      const language = languageOf(query)
      const form = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : ''
      const outcome = new URLSearchParams(form).get('outcome')
      if (outcome !== 'pass' && outcome !== 'fail') return brokenPage(language, 400)
      const target = await sessions.submit(query.get('token') ?? '', outcome)
      return typeof target === 'string' ? deadLinkPage(language, target) : redirect(target)
    }),
  )
  app.get(
    `${MEDIA_PATH}/:id`,
    handler('media', (request) => mediaAnswer(kit, request)),
  )
}

/** What the libraries accepted, for tests that have the sandbox in another process. */
function addControls(app: FastifyInstance, kit: FamilyKit): void {
  const { assets, assetGroups, verifications } = libraryViews(kit)
  for (const [name, views] of Object.entries({
    assets,
    'asset-groups': assetGroups,
    verifications,
  }))
    app.get(
      `/__sandbox/${name}`,
      guarded((_request, query) => {
        const filter = {
          region: query.get('region'),
          client_marker: query.get('client_marker'),
          client_request_id: query.get('client_request_id'),
        }
        const all: readonly { readonly seq: number }[] = views(filter)
        return pageOf(
          all,
          pageIn(query),
          ({ seq }) => seq,
          (view) => view,
        )
      }),
    )
}

/** The asset library of an upstream, its verification of real persons, and the page that is done on. */
export const assets: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const sessions = new Sessions(kit)
    addActions(app, kit, sessions)
    addOpenRoutes(app, kit, sessions)
    addControls(app, kit)
  },
}
