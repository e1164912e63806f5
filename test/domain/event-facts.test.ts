import t from 'tap'
import { accountEvents } from '../../src/domain/account/events.ts'
import {
  isFirstOfSource,
  nativeIdOf,
  sourceOf,
  timeOf,
  wordsOf,
  type AnyEventType,
} from '../../src/domain/any-event.ts'
import { assetEvents } from '../../src/domain/asset/events.ts'
import { assetGroupEvents } from '../../src/domain/asset-group/events.ts'
import { callEvents, writeOffEvents } from '../../src/domain/call/events.ts'
import { fileEvents } from '../../src/domain/file/events.ts'
import { issuerEvents } from '../../src/domain/issuer/events.ts'
import { noteEvents } from '../../src/domain/note/events.ts'
import { priceBookEvents } from '../../src/domain/pricing/events.ts'
import { statementEvents } from '../../src/domain/statement/events.ts'
import { taskEvents } from '../../src/domain/task/events.ts'
import { tokenEvents } from '../../src/domain/token/events.ts'
import { uploadEvents } from '../../src/domain/upload/events.ts'
import { savedViewEvents } from '../../src/domain/saved-view/events.ts'
import { viewEvents } from '../../src/domain/view/events.ts'
import { verificationEvents } from '../../src/domain/verification/events.ts'
import { voiceEvents } from '../../src/domain/voice/events.ts'
import { decodeFixture, eventFixtures } from '../helpers/event-fixtures.ts'

/** Of each aggregate, the member that holds the id of the source; undefined: events of the account. */
const sources: readonly (readonly [object, string | undefined])[] = [
  [accountEvents, undefined],
  [assetEvents, 'assetId'],
  [assetGroupEvents, 'groupId'],
  [callEvents, 'callId'],
  [fileEvents, 'fileId'],
  [issuerEvents, undefined],
  [noteEvents, 'about'],
  [priceBookEvents, undefined],
  [savedViewEvents, undefined],
  [statementEvents, undefined],
  [taskEvents, 'platformId'],
  [tokenEvents, 'tokenId'],
  [uploadEvents, 'fileId'],
  [verificationEvents, 'verificationId'],
  [viewEvents, 'tenantId'],
  [voiceEvents, undefined],
  [writeOffEvents, 'callId'],
]

const events = eventFixtures.map((fixture) => {
  const event = decodeFixture(fixture)
  const data: Readonly<Record<string, unknown>> = { ...event.data }
  return { event, data, type: event.type }
})

t.test('the source of an event is the id of its aggregate', (t) => {
  for (const { event, data, type } of events) {
    const member = sources.find(([schemas]) => type in schemas)?.[1]
    t.equal(sourceOf(event), member === undefined ? undefined : data[member], type)
  }
  t.ok(events.length > 50, `${events.length} events`)
  t.end()
})

t.test('the time of an event is when its fact ended, not when something expires', (t) => {
  for (const { event, data, type } of events) {
    const times = Object.entries(data)
      .filter(([name]) => name.endsWith('At') && name !== 'expiresAt')
      .map(([, time]) => String(time))
    t.equal(timeOf(event), times.sort().at(-1), type)
    t.match(timeOf(event), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, type)
  }
  t.end()
})

t.test('the first event of a source names tenant and user, which later events rely on', (t) => {
  const beginning = events.filter(({ event }) => isFirstOfSource(event))
  t.same(
    beginning.map(({ type }) => type),
    [
      'AssetCreated',
      'AssetGroupCreated',
      'FileUploaded',
      'MediaUploaded',
      'TaskRequested',
      'TokenIssued',
      'VerificationStarted',
    ] satisfies AnyEventType[],
  )
  for (const { data, type } of beginning) t.ok('tenantId' in data && 'userId' in data, type)
  const begun = new Set(beginning.map(({ event }) => sourceOf(event)?.replace('video_', 'image_')))
  const ofNoTenant: readonly AnyEventType[] = [
    'PriceBookPublished',
    'DatabaseAdopted',
    'IssuerProfileSet',
    'StatementKeyPublished',
  ]
  for (const { event, data, type } of events)
    if (!('tenantId' in data) && !ofNoTenant.includes(type))
      t.ok(begun.has(sourceOf(event)?.replace('video_', 'image_')), type)
  t.end()
})

t.test('an event with the upstream’s id makes the id known', (t) => {
  for (const { event, data, type } of events)
    // A settlement is always written with its success, which makes the id known.
    if (type !== 'TaskSettled') t.equal(nativeIdOf(event), data['nativeId'], type)
    else t.equal(nativeIdOf(event), undefined, type)
  t.end()
})

t.test('the summary of an event is one line without missing values', (t) => {
  for (const { event, type } of events) t.notMatch(wordsOf(event), /undefined|\[object|\n/, type)
  const withWords = events.filter(({ event }) => wordsOf(event) !== '')
  t.ok(withWords.length > 40, `${withWords.length} events with words`)
  t.end()
})
