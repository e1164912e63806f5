import type { FastifyInstance } from 'fastify'
import { isLetIn, type TextWire } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { randomHex } from '../kit/random.ts'
import { isTerminal } from '../tasks/record.ts'
import { type BodyWire, taskHandlers } from '../tasks/run.ts'
import { MEDIA_PATH, taskBody } from './body.ts'
import { errorAnswer, failureAnswer, messageOf, Refusal } from './errors.ts'
import { resultFile } from './media.ts'
import { modes, parseBody } from './parse.ts'
import { FAMILY, markersOf, VideoService } from './service.ts'
import { CallbackKeys } from './signature.ts'

const BASE_PATH = '/ent/v2'

const bodies: BodyWire = {
  parse: parseBody,
  markersOf,
  unknownSwitch: ({ message }) => new Refusal('FieldInvalid', message),
  safetyMember: 'payload',
}

/** How this family reads credentials, which are `Token` and not `Bearer`, and tells errors. */
function videoWire({ random, options }: FamilyKit, keys: CallbackKeys): TextWire {
  const traceId = (): string => randomHex(random, 32)
  return {
    family: FAMILY,
    credential: (request) => {
      const key = /^Token\s+(\S+)$/.exec(request.headers.authorization ?? '')?.[1]
      if (key === undefined || !isLetIn(options.apiKeys, key)) throw new Refusal('Unauthorized')
      keys.learn(key)
      return key
    },
    refused: (error) =>
      error instanceof Refusal ? errorAnswer(error.reason, error.message, traceId()) : null,
    refusal: (reason) => errorAnswer(reason, messageOf(reason), traceId()),
    failure: (status) => failureAnswer(status, traceId()),
  }
}

function addRoutes(app: FastifyInstance, kit: FamilyKit, keys: CallbackKeys): void {
  const service = new VideoService(kit)
  const { asked, sent, open } = taskHandlers(kit, videoWire(kit, keys))

  for (const mode of modes)
    app.post(
      `${BASE_PATH}/${mode}`,
      sent('create', bodies, ({ body, credential, faults }) =>
        service.create(mode, body, credential, faults),
      ),
    )
  app.post(
    `${BASE_PATH}/tasks/:id/cancel`,
    sent('cancel', bodies, ({ id, body }) => service.cancel(id, body)),
  )
  app.get(
    `${BASE_PATH}/tasks/:id/creations`,
    asked('get', ({ id }) => service.get(id)),
  )
  app.get(
    `${BASE_PATH}/tasks`,
    asked('list', ({ query, faults }) => service.list(query, faults)),
  )
  app.get(
    `${BASE_PATH}/credits`,
    asked('credits', ({ credential }) => service.credits(credential)),
  )
  app.get(
    `${MEDIA_PATH}/:id`,
    open('media', (request) => resultFile(kit, request)),
  )
}

/** The `/provC` video upstream: four ways to create, query, list, cancel, callbacks, credits, files. */
export const videoC: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const keys = new CallbackKeys(kit.random, kit.nowMs)
    kit.callbacks.renderWith(
      FAMILY,
      (task, segment) => {
        // Nobody is told that a task waits.
        if (segment.phase !== 'running' && !isTerminal(segment.phase)) return null
        const site = { baseUrl: kit.baseUrl(), urlSeconds: kit.options.urlSeconds }
        return taskBody(task, segment, site, kit.clock.nowMs())
      },
      (task, target) => keys.headersFor(task, target),
    )
    addRoutes(app, kit, keys)
  },
}
