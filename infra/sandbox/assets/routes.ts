import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { guarded, pageIn, pageOf } from '../control.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import {
  NO_FAULTS,
  NO_MARKERS,
  parseMarkers,
  type PromptMarkers,
  type Faults,
  UnknownSwitch,
} from '../faults/vocabulary.ts'
import { type Answer, type Exchange, runExchange } from '../http/exchange.ts'
import { queryOf, runOnWire, Refusal } from '../http/wire.ts'
import { MEDIA_PATH, mediaAnswer, Envelope, VERSION } from './body.ts'
import { brokenPage, checkPage, deadLinkPage, languageOf, redirect } from './page.ts'
import { PAGE_PATH, Sessions } from './sessions.ts'
import { libraryViews } from './view.ts'
import { type Fields, NO_FIELDS, textIn } from '../kit/body.ts'
import { Library } from './library.ts'
import { type SignedOrder, bodyOf } from './parse.ts'
import { authorize, namedRegion } from './signature.ts'

/** The family's name in counters and fault rules. */
const FAMILY = 'assets'
const PATHS = ['/open', '/open/']

interface Action {
  /** What counters and fault rules call it. */
  readonly op: string
  readonly act: (order: SignedOrder) => object | Promise<object>
  /** Whether the result comes without an envelope. */
  readonly bare: boolean
}

function actionsOf(kit: FamilyKit, sessions: Sessions): ReadonlyMap<string, Action> {
  const library = new Library(kit)
  const of = (op: string, act: Action['act'], bare = false): Action => ({ op, act, bare })
  return new Map<string, Action>([
    ['CreateAssetGroup', of('create-group', (order) => library.createGroup(order))],
    ['CreateAsset', of('create', (order) => library.createAsset(order))],
    ['GetAsset', of('get', (order) => library.getAsset(order))],
    ['GetAssetGroup', of('get-group', (order) => library.getGroup(order))],
    ['ListAssets', of('list', (order) => library.listAssets(order))],
    ['ListAssetGroups', of('list-groups', (order) => library.listGroups(order))],
    ['UpdateAsset', of('update', (order) => library.updateAsset(order))],
    ['UpdateAssetGroup', of('update-group', (order) => library.updateGroup(order))],
    ['DeleteAsset', of('delete', (order) => library.deleteAsset(order))],
    ['DeleteAssetGroup', of('delete-group', (order) => library.deleteGroup(order))],
    ['CreateVisualValidateSession', of('verify', (order) => sessions.create(order), true)],
    ['GetVisualValidateResult', of('verify-result', (order) => sessions.result(order), true)],
  ])
}

/** The members of a request that are read before its signature is checked. */
interface Read {
  readonly name: string
  readonly version: string
  readonly bytes: Buffer
  readonly body: Fields
  readonly markers: PromptMarkers
  /** What is wrong with its body; reported after the signature was checked. */
  readonly fault: Refusal | null
}

function readRequest(request: FastifyRequest): Read {
  const query = queryOf(request)
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const asked = { name: query.get('Action') ?? '', version: query.get('Version') ?? '', bytes }
  try {
    const body = bodyOf(bytes)
    return { ...asked, body, markers: markersOf(body), fault: null }
  } catch (error) {
    const fault =
      error instanceof UnknownSwitch
        ? new Refusal('InvalidParameter.SandboxMarker', `${error.message}.`)
        : error
    if (!(fault instanceof Refusal)) throw fault
    return { ...asked, body: NO_FIELDS, markers: NO_MARKERS, fault }
  }
}

/** Members of bodies that hold an address of the caller's. */
const ADDRESSES = ['URL', 'CallbackURL']

/** The decoded text; a text that was never encoded stays as it is. */
function decoded(address: string): string {
  try {
    return decodeURIComponent(address.replaceAll('+', '%20'))
  } catch {
    return address
  }
}

/** The markers in the path or the query of an address in a body. @throws UnknownSwitch */
function markersOf(body: Fields): PromptMarkers {
  return parseMarkers(ADDRESSES.map((name) => decoded(textIn(body, name) ?? '')).join('\n'))
}

/** The name of a request in records and rules: its marker, or else the name in it. */
function markerOf({ markers, body }: Read): string | null {
  return markers.clientMarker ?? (textIn(body, 'Name') || null)
}

/** Does what the signer asks for. @throws Refusal */
async function perform(
  { options }: FamilyKit,
  request: FastifyRequest,
  read: Read,
  action: Action | undefined,
  envelope: Envelope,
  faults: Faults,
): Promise<Answer> {
  const { name, version, bytes, body, fault } = read
  const caller = authorize(request, bytes, options)
  if (name === '' || version === '')
    throw new Refusal('MissingRequestInfo', 'The request names no `Action` or no `Version`.')
  if (action === undefined) {
    const why = `Could not find operation ${name.slice(0, 100)}.`
    throw new Refusal('InvalidActionOrVersion', why)
  }
  if (fault !== null) throw fault
  const { 'x-client-request-id': clientRequestId } = request.headers
  const result = await action.act({
    ...caller,
    body,
    faults,
    clientMarker: markerOf(read),
    clientRequestId: typeof clientRequestId === 'string' ? clientRequestId : null,
  })
  return action.bare ? { status: 200, body: result } : envelope.success(result)
}

/** The values that a fault rule matches: from the request, or else from its asset or group. */
function subjectOf(kit: FamilyKit, read: Read): Exchange['subject'] {
  const id = textIn(read.body, 'Id')
  const known = id === null ? null : (kit.assets.asset(id) ?? kit.assets.group(id))
  const clientMarker = markerOf(read) ?? known?.clientMarker ?? null
  return { id, model: null, clientMarker, safetyIdentifier: null }
}

/** Adds the signed wire: every action is one address. */
function addActions(app: FastifyInstance, kit: FamilyKit, sessions: Sessions): void {
  const actions = actionsOf(kit, sessions)
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const read = readRequest(request)
    const { name, version, markers } = read
    const action = version === VERSION ? actions.get(name) : undefined
    const envelope = new Envelope(kit, { action: name, version, region: namedRegion(request) })
    const exchange: Exchange = {
      family: FAMILY,
      op: action?.op ?? 'unknown',
      subject: subjectOf(kit, read),
      promptFaults: markers.faults,
      perform: async (faults) => {
        try {
          return await perform(kit, request, read, action, envelope, faults)
        } catch (error) {
          if (!(error instanceof Refusal)) throw error
          return envelope.error(error.code, error.message, faults)
        }
      },
      refusal: (code, faults) => envelope.error(code, `The request failed: ${code}.`, faults),
      failure: (status, faults) => envelope.failure(status, faults),
    }
    await runExchange(kit, exchange, request, reply)
    return reply
  }
  for (const path of PATHS) app.post(path, handle)
}

const NO_SUBJECT = { id: null, model: null, clientMarker: null, safetyIdentifier: null }

/** Routes that need no signature, only the address. */
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
