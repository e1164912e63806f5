import type { Say } from '../bill.ts'
import type { AssetFindings } from './findings.ts'
import type { LoggedThing } from './library-log.ts'

/** Whether each person who was verified has one group, and nobody else has. */

type Findings = Pick<AssetFindings, 'upstream' | 'logged' | 'witness' | 'isOver'>

export function judgePersons(findings: Findings, say: Say): void {
  judgeSessions(findings, say)
  judgeVerifications(findings, say)
  judgeGroups(findings, say)
  judgeResults(findings, say)
}

/** Each was asked for once, by somebody. A person whose result nobody asked for is no defect. */
function judgeSessions({ upstream, witness }: Findings, say: Say): void {
  const seen = new Set<string>()
  for (const { id, client_marker: marker } of upstream.verifications) {
    if (marker === null || !witness.sessions.has(marker)) say('unasked', id, `as ${marker}`)
    else if (seen.size === seen.add(marker).size) say('sent_twice', marker, 'begun twice')
  }
}

/** A confirmed one is of a person who passed; it is confirmed once, and its group is there. */
function judgeVerifications({ upstream, logged, isOver }: Findings, say: Say): void {
  const passed = new Map(
    upstream.verifications.flatMap((one) =>
      one.group_id === null ? [] : [[one.group_id, one] as const],
    ),
  )
  const owners = new Map<string, string>()
  for (const { id, phase, events, nativeGroupId = '', groupId } of logged.verifications.values()) {
    const types = events.map(({ type }) => type)
    if (types[0] !== 'VerificationStarted' || types.length > 2) say('twice', id, types.join(', '))
    if (phase === 'started' && isOver) say('still_open', id, 'has no end')
    if (phase !== 'confirmed') continue
    if (passed.get(nativeGroupId)?.page !== 'pass') say('verified_in_vain', id, nativeGroupId)
    const other = owners.get(nativeGroupId)
    if (other !== undefined) say('owned_twice', nativeGroupId, `by ${other} and ${id}`)
    owners.set(nativeGroupId, id)
    const group = logged.groups.get(groupId)
    if (group?.nativeId !== nativeGroupId)
      say('group_missing', groupId, `${group?.nativeId ?? 'none'} in place of ${nativeGroupId}`)
  }
}

/** A person's group comes from a verification, whichever process made it. */
function judgeGroups({ logged }: Findings, say: Say): void {
  const confirmed = new Map(
    [...logged.verifications.values()]
      .filter(({ phase }) => phase === 'confirmed')
      .map(({ groupId, nativeGroupId }) => [groupId, nativeGroupId]),
  )
  for (const { id, groupType, nativeId } of logged.groups.values())
    if (groupType === 'LivenessFace' && (nativeId === undefined || confirmed.get(id) !== nativeId))
      say('unverified', id, `${nativeId ?? 'no group upstream'}, and nobody was verified for it`)
}

/** A caller was told one group, and it is the one of the person it sent to the page. */
function judgeResults({ upstream, logged, witness }: Findings, say: Say): void {
  const groupOf = new Map(
    upstream.verifications.map(({ client_marker: marker, group_id: id }) => [marker, id]),
  )
  for (const { marker, groupIds } of witness.sessions.values()) {
    if (groupIds.size > 1) say('two_groups', marker, [...groupIds].join(' '))
    for (const id of groupIds) {
      const group: LoggedThing | undefined = logged.groups.get(id)
      if (group === undefined) say('id_lost', id, `told to ${marker}`)
      else if (group.nativeId !== groupOf.get(marker))
        say('wrong_owner', id, `${marker} is ${groupOf.get(marker)}, kept as ${group.nativeId}`)
    }
  }
}
