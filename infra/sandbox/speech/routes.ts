import type { FastifyRequest } from 'fastify'
import { addCall } from '../calls/run.ts'
import type { SandboxFamily } from '../family.ts'
import { queryOf } from '../http/wire.ts'
import { type Fields, textIn } from '../kit/body.ts'
import { IdMaker } from '../kit/clock.ts'
import { taskHandlers } from '../tasks/run.ts'
import { AUDIO_PATH, audioFile } from './audio.ts'
import { addCloneRoute } from './clone.ts'
import { addUploadRoute, fileAnswer } from './files.ts'
import { FAMILY, speak, type Speakers, Voices } from './service.ts'
import { SpeechTasks } from './tasks.ts'
import { speechWire } from './wire.ts'

const AT = '/speech'
const PREFIX = `${AT}/v1`

const inQuery = (name: string) => (request: FastifyRequest) => queryOf(request).get(name) ?? ''
const spokenIn = (body: Fields | null): string => (body && textIn(body, 'text')) ?? ''

/** Speech, at once and as tasks, its files and its voices; every answer is a 200. */
export const speech: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const voices = new Voices()
    kit.onReset(() => voices.reset())
    const wire = speechWire(kit, FAMILY)
    const speakers: Speakers = { kit, wire, ids: new IdMaker(kit.random), voices }
    const tasks = new SpeechTasks(speakers)
    const { asked, open } = taskHandlers(kit, wire)
    addCall(app, kit, wire, `${PREFIX}/t2a_v2`, (body) => ({
      userText: spokenIn(body),
      perform: (asker, faults) => speak(speakers, body, asker, faults),
    }))
    addCall(app, kit, wire, `${PREFIX}/t2a_async_v2`, (body) => ({
      op: 'create-task',
      userText: spokenIn(body),
      perform: (asker, faults) => tasks.create(body, asker, faults),
    }))
    app.get(
      `${PREFIX}/query/t2a_async_query_v2`,
      asked('get', ({ id, credential }) => tasks.query(id, credential), inQuery('task_id')),
    )
    app.get(
      `${PREFIX}/files/retrieve`,
      asked(
        'retrieve',
        ({ id, credential }) => fileAnswer(kit, credential, id) ?? tasks.retrieve(id, credential),
        inQuery('file_id'),
      ),
    )
    app.get(
      `${AUDIO_PATH}/:id`,
      open('media', (request) => audioFile(kit, request)),
    )
    addUploadRoute(app, kit, wire, AT, (id, credential) => tasks.content(id, credential))
    addCloneRoute(app, speakers, AT)
  },
}
