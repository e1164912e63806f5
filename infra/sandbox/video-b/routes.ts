import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { NO_MARKERS, type PromptMarkers } from '../faults/marker.ts'
import { UnknownSwitch, type Faults } from '../faults/vocabulary.ts'
import { runExchange, type Answer } from '../http/exchange.ts'
import { fileAnswer, noFile } from '../media/file-answer.ts'
import { mp4OfSeconds } from '../media/mp4.ts'
import { checkSignedUrl } from '../media/signed-url.ts'
import { addDownloadRoute, addUploadRoute } from '../speech/files.ts'
import { speechWire } from '../speech/wire.ts'
import { bearerKey } from '../text/run.ts'
import { MEDIA_PATH, taskBody } from './body.ts'
import { errorAnswer, failureAnswer, Refusal } from './errors.ts'
import { parseBody, type Fields } from './parse.ts'
import type { VideoDetail } from './plan.ts'
import { FAMILY, markersOf, VideoService } from './service.ts'

/** Upstreams of this kind have other families beside this one on their paths. */
const BASE_PATH = '/video-b/v2'

/** One request of this family before it is acted on. */
interface Call {
  readonly op: string
  readonly id?: string
  readonly body?: Fields
  readonly markers?: PromptMarkers
  readonly perform: (faults: Faults) => Answer | Promise<Answer>
}

/** Runs a call: faults, then what was asked; a refusal becomes an answer. */
async function run(kit: FamilyKit, call: Call, request: FastifyRequest, reply: FastifyReply) {
  const { op, id = null, body = {}, markers = NO_MARKERS, perform } = call
  const { random } = kit
  const record = id === null ? undefined : kit.store.get(id)?.record
  const { model } = body
  await runExchange(
    kit,
    {
      family: FAMILY,
      op,
      subject: {
        id,
        model: typeof model === 'string' ? model : (record?.model ?? null),
        clientMarker: markers.clientMarker ?? record?.clientMarker ?? null,
        safetyIdentifier: null,
      },
      promptFaults: markers.faults,
      perform: async (faults) => {
        try {
          return await perform(faults)
        } catch (error) {
          if (!(error instanceof Refusal)) throw error
          return errorAnswer(error, random)
        }
      },
      refusal: (number) => errorAnswer(new Refusal(number), random),
      failure: (status) => failureAnswer(status, random),
    },
    request,
    reply,
  )
  return reply
}

/** @throws Refusal when there is no credential, or none that is let in */
function credentialOf(kit: FamilyKit, request: FastifyRequest): string {
  const key = bearerKey(kit.options.apiKeys, request)
  if (key === null) throw new Refusal('1004')
  return key
}

function queryOf(request: FastifyRequest): URLSearchParams {
  return new URL(request.url, 'http://sandbox').searchParams
}

function idOf(request: FastifyRequest): string {
  return (request.params as { readonly id: string }).id
}

/** A body that cannot be read or a marker that does not exist is refused once the credential was checked. */
function readCreate(request: FastifyRequest) {
  try {
    const body = parseBody(Buffer.isBuffer(request.body) ? request.body : null)
    return { body, markers: markersOf(body), fault: null }
  } catch (error) {
    const fault = error instanceof UnknownSwitch ? new Refusal('2013', error.message) : error
    if (!(fault instanceof Refusal)) throw fault
    return { body: {}, markers: NO_MARKERS, fault }
  }
}

function addRoutes(app: FastifyInstance, kit: FamilyKit): void {
  const service = new VideoService(kit)
  const handle =
    (callOf: (request: FastifyRequest) => Call) => (request: FastifyRequest, reply: FastifyReply) =>
      run(kit, callOf(request), request, reply)
  const onTask = (op: string, act: (id: string, credential: string) => Answer | Promise<Answer>) =>
    handle((request) => ({
      op,
      id: idOf(request),
      perform: () => act(idOf(request), credentialOf(kit, request)),
    }))

  app.post(
    `${BASE_PATH}/video_generation`,
    handle((request) => {
      const { body, markers, fault } = readCreate(request)
      return {
        op: 'create',
        body,
        markers,
        perform: (faults) => {
          const credential = credentialOf(kit, request)
          if (fault !== null) throw fault
          return service.create(body, credential, faults)
        },
      }
    }),
  )
  app.get(
    `${BASE_PATH}/query/video_generation/:id`,
    onTask('get', (id, credential) => service.get(id, credential)),
  )
  app.get(
    `${BASE_PATH}/query/video_generation`,
    handle((request) => ({
      op: 'list',
      perform: (faults) => service.list(queryOf(request), credentialOf(kit, request), faults),
    })),
  )
  app.delete(
    `${BASE_PATH}/video_generation/:id`,
    onTask('delete', (id, credential) => service.remove(id, credential)),
  )
  app.get(
    `${MEDIA_PATH}/:id`,
    handle((request) => ({ op: 'media', perform: () => resultFile(kit, request) })),
  )
}

/** A result file for whoever holds its signed URL. */
function resultFile(kit: FamilyKit, request: FastifyRequest): Answer {
  const file = idOf(request)
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
