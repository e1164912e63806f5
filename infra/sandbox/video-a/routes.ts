import type { FastifyInstance } from 'fastify'
import { bearerKey, type TextWire } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import {
  errorAnswer,
  failureAnswer,
  messageOf,
  newRequestId,
  Refusal,
} from '../http/dotted-errors.ts'
import { type BodyWire, idInPath, queryOf, taskHandlers } from '../tasks/run.ts'
import { MEDIA_PATH, taskBody } from './body.ts'
import { ResultFiles } from './media.ts'
import { parseBody } from './parse.ts'
import { FAMILY, markersOf, VideoService } from './service.ts'

const BASE_PATH = '/api/v3/contents/generations/tasks'

const bodies: BodyWire = {
  parse: parseBody,
  markersOf,
  unknownSwitch: ({ message }) =>
    new Refusal('InvalidParameter.SandboxMarker', `${message}.`, 'content'),
  safetyMember: 'safety_identifier',
}

/** How this family reads credentials and tells errors. */
function videoWire({ random, clock, options }: FamilyKit): TextWire {
  const requestId = (): string => newRequestId(random, clock.nowMs())
  return {
    family: FAMILY,
    credential: (request) => {
      const key = bearerKey(options.apiKeys, request)
      if (key === null) throw new Refusal('AuthenticationError', messageOf('AuthenticationError'))
      return key
    },
    refused: (error) =>
      error instanceof Refusal
        ? errorAnswer(error.code, error.message, error.param, requestId())
        : null,
    refusal: (code) => errorAnswer(code, messageOf(code), '', requestId()),
    failure: (status) => failureAnswer(status, requestId()),
  }
}

function addRoutes(app: FastifyInstance, kit: FamilyKit): void {
  const service = new VideoService(kit)
  const files = new ResultFiles(kit)
  const { asked, sent, open } = taskHandlers(kit, videoWire(kit))
  const create = sent('create', bodies, ({ body, credential, faults }) =>
    service.create(body, credential, faults),
  )

  app.post(BASE_PATH, create)
  // There is no cancel route; this upstream was seen to take such a call for a creation.
  app.post(`${BASE_PATH}/:id/cancel`, create)
  app.get(
    `${BASE_PATH}/:id`,
    asked('get', ({ id }) => service.get(id)),
  )
  app.delete(
    `${BASE_PATH}/:id`,
    asked('delete', ({ id }) => service.remove(id)),
  )
  app.get(
    BASE_PATH,
    asked('list', ({ query, faults }) => service.list(query, faults)),
  )
  app.get(
    `${MEDIA_PATH}/:id`,
    open('media', (request) => files.answer(idInPath(request), queryOf(request))),
  )
}

/** The `/provA` video upstream: create, query, list, delete, callbacks and result files. */
export const videoA: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    kit.callbacks.renderWith(FAMILY, (task, segment) =>
      taskBody(task, segment, { baseUrl: kit.baseUrl(), urlSeconds: kit.options.urlSeconds }),
    )
    addRoutes(app, kit)
  },
}
