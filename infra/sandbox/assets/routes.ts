import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { NO_FAULTS } from '../faults/vocabulary.ts'
import { runExchange, type Answer } from '../http/exchange.ts'
import { idInPath, queryOf } from '../http/wire.ts'
import { addActions, FAMILY } from './actions.ts'
import { addLibraryControls } from './control.ts'
import { MEDIA_PATH, mediaAnswer } from './media.ts'
import { brokenPage, checkPage, deadLinkPage, languageOf, redirect } from './page.ts'
import { PAGE_PATH, Sessions } from './sessions.ts'

/** What is open to whoever has the address. */
function addOpenRoutes(app: FastifyInstance, kit: FamilyKit, sessions: Sessions): void {
  const handler =
    (op: string, perform: (request: FastifyRequest) => Answer | Promise<Answer>) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const language = languageOf(queryOf(request))
      await runExchange(
        kit,
        {
          family: FAMILY,
          op,
          subject: { id: null, model: null, clientMarker: null, safetyIdentifier: null },
          promptFaults: NO_FAULTS,
          perform: async () => perform(request),
          refusal: () => brokenPage(language, 400),
          failure: (status) => brokenPage(language, status),
        },
        request,
        reply,
      )
      return reply
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
    handler('media', (request) =>
      mediaAnswer(kit, idInPath(request), queryOf(request), request.headers.range),
    ),
  )
}

/** The asset library of an upstream, its verification of real persons, and the page that is done on. */
export const assets: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const sessions = new Sessions(kit)
    addActions(app, kit, sessions)
    addOpenRoutes(app, kit, sessions)
    addLibraryControls(app, kit)
  },
}
