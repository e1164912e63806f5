import type { FastifyInstance, FastifyRequest } from 'fastify'
import { runText, type TextRequest, type TextWire } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Fields, jsonBody, textIn } from '../kit/body.ts'
import { idInPath, queryOf, taskHandlers } from '../tasks/run.ts'
import { AUDIO_PATH, fileAnswer } from './audio.ts'
import { addCloneRoute } from './clone.ts'
import { addUploadRoute, fileAnswer as uploadAnswer } from './files.ts'
import { FAMILY, SpeechService } from './service.ts'
import { SpeechTasks } from './tasks.ts'
import { Voices } from './voices.ts'
import { speechWire } from './wire.ts'

const AT = '/speech'
const PREFIX = `${AT}/v1`

function addPosts(
  app: FastifyInstance,
  kit: FamilyKit,
  wire: TextWire,
  { service, tasks }: { readonly service: SpeechService; readonly tasks: SpeechTasks },
): void {
  const post = (
    path: string,
    opOf: (body: Fields | null) => string,
    performed: (body: Fields | null) => TextRequest['perform'],
  ): void => {
    app.post(path, (request, reply) => {
      const body = jsonBody(request.body)
      const asked = {
        op: opOf(body),
        model: body && textIn(body, 'model'),
        body,
        userText: (body && textIn(body, 'text')) ?? '',
        perform: performed(body),
      }
      return runText(kit, wire, asked, request, reply)
    })
  }
  post(
    `${PREFIX}/t2a_v2`,
    (body) => (body?.['stream'] === true ? 'stream' : 'create'),
    (body) => (asker, faults) => service.speak(body, asker, faults),
  )
  post(
    `${PREFIX}/t2a_async_v2`,
    () => 'create-task',
    (body) => (asker, faults) => tasks.create(body, asker, faults),
  )
}

function addGets(app: FastifyInstance, kit: FamilyKit, wire: TextWire, tasks: SpeechTasks): void {
  const { asked, open } = taskHandlers(kit, wire)
  const inQuery = (name: string) => (request: FastifyRequest) => queryOf(request).get(name) ?? ''
  app.get(
    `${PREFIX}/query/t2a_async_query_v2`,
    asked('get', ({ id, credential }) => tasks.query(id, credential), inQuery('task_id')),
  )
  app.get(
    `${PREFIX}/files/retrieve`,
    asked(
      'retrieve',
      ({ id, credential }) => uploadAnswer(kit, credential, id) ?? tasks.retrieve(id, credential),
      inQuery('file_id'),
    ),
  )
  app.get(
    `${AUDIO_PATH}/:id`,
    open('media', (request) => fileAnswer(idInPath(request), queryOf(request), kit.clock.nowMs())),
  )
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
    addUploadRoute(app, kit, wire, AT, (id, credential) => tasks.content(id, credential))
    addCloneRoute(app, kit, wire, { at: AT, voices })
  },
}
