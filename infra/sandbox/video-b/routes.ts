import type { FastifyInstance, FastifyRequest } from 'fastify'
import { bearerKey, type TextWire } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { checkSignedUrl, fileAnswer, noFile } from '../media/files.ts'
import { mp4OfSeconds } from '../media/mp4.ts'
import { addDownloadRoute, addUploadRoute } from '../speech/files.ts'
import { speechWire } from '../speech/wire.ts'
import { type BodyWire, idInPath, queryOf, taskHandlers } from '../tasks/run.ts'
import { MEDIA_PATH, taskBody } from './body.ts'
import { errorAnswer, failureAnswer, Refusal } from './errors.ts'
import { parseBody } from './parse.ts'
import type { VideoDetail } from './plan.ts'
import { FAMILY, markersOf, VideoService } from './service.ts'

/** Upstreams of this kind have other families beside this one on their paths. */
const BASE_PATH = '/video-b/v2'

const bodies: BodyWire = {
  parse: parseBody,
  markersOf,
  unknownSwitch: ({ message }) => new Refusal('2013', message),
}

/** How this family reads credentials and tells errors. */
function videoWire({ random, options }: FamilyKit): TextWire {
  return {
    family: FAMILY,
    credential: (request) => {
      const key = bearerKey(options.apiKeys, request)
      if (key === null) throw new Refusal('1004')
      return key
    },
    refused: (error) => (error instanceof Refusal ? errorAnswer(error, random) : null),
    refusal: (number) => errorAnswer(new Refusal(number), random),
    failure: (status) => failureAnswer(status, random),
  }
}

function addRoutes(app: FastifyInstance, kit: FamilyKit): void {
  const service = new VideoService(kit)
  const { asked, sent, open } = taskHandlers(kit, videoWire(kit))

  app.post(
    `${BASE_PATH}/video_generation`,
    sent('create', bodies, ({ body, credential, faults }) =>
      service.create(body, credential, faults),
    ),
  )
  app.get(
    `${BASE_PATH}/query/video_generation/:id`,
    asked('get', ({ id, credential }) => service.get(id, credential)),
  )
  app.get(
    `${BASE_PATH}/query/video_generation`,
    asked('list', ({ query, credential, faults }) => service.list(query, credential, faults)),
  )
  app.delete(
    `${BASE_PATH}/video_generation/:id`,
    asked('delete', ({ id, credential }) => service.remove(id, credential)),
  )
  app.get(
    `${MEDIA_PATH}/:id`,
    open('media', (request) => resultFile(kit, request)),
  )
}

/** A result file for whoever holds its signed URL. */
function resultFile(kit: FamilyKit, request: FastifyRequest): Answer {
  const file = idInPath(request)
  const refused = checkSignedUrl(`${MEDIA_PATH}/${file}`, queryOf(request), kit.clock.nowMs())
  if (refused !== null) return noFile(403, refused)
  const task = kit.store.get(/^(\d{15})\.mp4$/.exec(file)?.[1] ?? '')
  if (task === null) return noFile(404, 'NoSuchKey')
  const { duration } = task.record.detail as unknown as VideoDetail
  return fileAnswer(mp4OfSeconds(duration), 'video/mp4', request.headers.range)
}

/** The `/provB` video upstream: create with its challenge, query, list, delete, callbacks, files. */
export const videoB: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    kit.callbacks.renderWith(FAMILY, (task, segment) =>
      taskBody(task, segment, {
        baseUrl: kit.baseUrl(),
        urlSeconds: kit.options.urlSeconds,
        nowMs: kit.clock.nowMs(),
      }),
    )
    addRoutes(app, kit)
    // Accounts of videos take files as those of speech do.
    addUploadRoute(app, kit, speechWire(kit, FAMILY), '/video-b')
    addDownloadRoute(app, kit)
  },
}
