import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { runExchange, type Answer } from '../http/exchange.ts'
import { NO_FAULTS } from '../faults/vocabulary.ts'
import { jsonBody, textIn } from '../text/fields.ts'
import { runText, type TextWire } from '../text/run.ts'
import { AUDIO_PATH, fileAnswer } from './audio.ts'
import { addCloneRoute } from './clone.ts'
import { addUploadRoute, fileAnswer as uploadAnswer } from './files.ts'
import { FAMILY, SpeechService } from './service.ts'
import { SpeechTasks } from './tasks.ts'
import { Voices } from './voices.ts'
import { speechWire } from './wire.ts'

const AT = '/speech'
const PREFIX = `${AT}/v1`

function queryOf(request: FastifyRequest): URLSearchParams {
  return new URL(request.url, 'http://sandbox').searchParams
}

function addPosts(
  app: FastifyInstance,
  kit: FamilyKit,
  wire: TextWire,
  { service, tasks }: { readonly service: SpeechService; readonly tasks: SpeechTasks },
): void {
  app.post(`${PREFIX}/t2a_v2`, (request, reply) => {
    const body = jsonBody(request.body)
    const asked = {
      op: body?.['stream'] === true ? 'stream' : 'create',
      model: body === null ? null : textIn(body, 'model'),
      body,
      userText: (body && textIn(body, 'text')) ?? '',
    }
    return runText(
      kit,
      wire,
      { ...asked, perform: (asker, faults) => service.speak(body, asker, faults) },
      request,
      reply,
    )
  })
  app.post(`${PREFIX}/t2a_async_v2`, (request, reply) => {
    const body = jsonBody(request.body)
    const asked = {
      op: 'create-task',
      model: body === null ? null : textIn(body, 'model'),
      body,
      userText: (body && textIn(body, 'text')) ?? '',
    }
    return runText(
      kit,
      wire,
      { ...asked, perform: (asker, faults) => tasks.create(body, asker, faults) },
      request,
      reply,
    )
  })
}

function addGets(app: FastifyInstance, kit: FamilyKit, wire: TextWire, tasks: SpeechTasks): void {
  const get = (
    path: string,
    op: string,
    answer: (request: FastifyRequest) => { readonly id: string; readonly act: () => Answer },
  ): void => {
    app.get(path, async (request, reply) => {
      const { id, act } = answer(request)
      const clientMarker = kit.store.get(id)?.record.clientMarker ?? null
      await runExchange(
        kit,
        {
          family: FAMILY,
          op,
          subject: { model: null, id, clientMarker, safetyIdentifier: null },
          promptFaults: NO_FAULTS,
          perform: async () => {
            try {
              return act()
            } catch (error) {
              const refused = wire.refused(error)
              if (refused === null) throw error
              return Promise.resolve(refused)
            }
          },
          refusal: wire.refusal,
          failure: wire.failure,
        },
        request,
        reply,
      )
      return reply
    })
  }
  get(`${PREFIX}/query/t2a_async_query_v2`, 'get', (request) => {
    const id = queryOf(request).get('task_id') ?? ''
    return { id, act: () => tasks.query(id, wire.credential(request)) }
  })
  get(`${PREFIX}/files/retrieve`, 'retrieve', (request) => {
    const id = queryOf(request).get('file_id') ?? ''
    return {
      id,
      act: () => {
        const credential = wire.credential(request)
        return uploadAnswer(kit, credential, id) ?? tasks.retrieve(id, credential)
      },
    }
  })
  get(`${AUDIO_PATH}/:name`, 'media', (request) => {
    const { name } = request.params as { readonly name: string }
    return { id: name, act: () => fileAnswer(name, queryOf(request), kit.clock.nowMs()) }
  })
}

/** Speech, at once and as tasks, its files and its voices; every answer is a 200. */
export const speech: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const voices = new Voices()
    kit.onReset(() => voices.reset())
    const service = new SpeechService(kit, voices)
    const tasks = new SpeechTasks(kit, service)
    const wire = speechWire(kit, FAMILY)
    addPosts(app, kit, wire, { service, tasks })
    addGets(app, kit, wire, tasks)
    addUploadRoute(app, kit, wire, AT)
    addCloneRoute(app, kit, wire, { at: AT, voices })
  },
}
