import t from 'tap'
import { eventSchemas } from '../../src/domain/any-event.ts'
import { accountEvents } from '../../src/domain/account/events.ts'
import { spoolEvents } from '../../src/domain/call/events.ts'
import { issuerEvents } from '../../src/domain/issuer/events.ts'
import { installationEvents } from '../../src/domain/installation/events.ts'
import { isLifeKind, isUnbilled, lifeKindOf, lifeKinds } from '../../src/domain/lives.ts'
import { noteEvents } from '../../src/domain/note/events.ts'
import { priceBookEvents } from '../../src/domain/pricing/events.ts'
import { tokenEvents } from '../../src/domain/token/events.ts'
import { statementEvents } from '../../src/domain/statement/events.ts'
import { savedViewEvents } from '../../src/domain/saved-view/events.ts'
import { viewEvents } from '../../src/domain/view/events.ts'

t.test('each type of event is a part of a life, or is known not to be', (t) => {
  const ofNoLife = Object.keys({
    ...accountEvents,
    ...tokenEvents,
    ...priceBookEvents,
    ...noteEvents,
    ...viewEvents,
    ...savedViewEvents,
    ...installationEvents,
    ...spoolEvents,
    ...statementEvents,
    ...issuerEvents,
  })
  const without = Object.keys(eventSchemas).filter((type) => lifeKindOf(type) === undefined)
  t.same(without.toSorted(), ofNoLife.toSorted())
  t.equal(lifeKindOf('CallWrittenOff'), 'call')
  t.equal(lifeKindOf('VoiceCloned'), 'voice')
  t.equal(lifeKindOf('toString'), undefined)
  t.end()
})

t.test('tasks and calls alone are billed', (t) => {
  t.same(
    lifeKinds.filter((kind) => !isUnbilled(kind)),
    ['task', 'call'],
  )
  t.notOk(isUnbilled(undefined))
  t.ok(lifeKinds.every(isLifeKind), 'each is a kind of life')
  t.notOk(isLifeKind('line') || isLifeKind('toString'), 'and nothing else is one')
  t.end()
})
