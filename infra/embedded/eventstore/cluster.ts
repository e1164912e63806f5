/**
 * Facts that the server reports about itself: the calls it knows, and the cluster it belongs to.
 */

import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import { systemClock } from '../../../src/kernel/clock.ts'
import type { Member } from './gate.ts'

const STREAMS = 'event_store.client.streams.streams'
const METHODS: readonly (readonly [service: string, method: string])[] = [
  [STREAMS, 'append'],
  [STREAMS, 'batchappend'],
  [STREAMS, 'read'],
  [STREAMS, 'delete'],
  [STREAMS, 'tombstone'],
  ['event_store.client.gossip.gossip', 'read'],
  ['event_store.client.server_features.serverfeatures', 'getsupportedmethods'],
]

/** Answer of `ServerFeatures.GetSupportedMethods`. */
export function supportedMethods(reportedVersion: string): features.SupportedMethods {
  const answer = new features.SupportedMethods()
  answer.setEventStoreServerVersion(reportedVersion)
  for (const [service, method] of METHODS) {
    const supported = new features.SupportedMethod()
    supported.setServiceName(service)
    supported.setMethodName(method)
    answer.addMethods(supported)
  }
  return answer
}

/** Answer of `Gossip.Read`. */
export function clusterOf(members: readonly Member[]): gossip.ClusterInfo {
  const cluster = new gossip.ClusterInfo()
  for (const member of members) cluster.addMembers(memberInfo(member))
  return cluster
}

function memberInfo(member: Member): gossip.MemberInfo {
  const endpoint = new gossip.EndPoint()
  endpoint.setAddress(member.host)
  endpoint.setPort(member.port)
  const info = new gossip.MemberInfo()
  info.setInstanceId(new shared.UUID().setString(member.instanceId))
  // .NET ticks since the Unix epoch.
  info.setTimeStamp(`${systemClock.nowMs()}0000`)
  info.setState(gossip.MemberInfo.VNodeState[member.state])
  info.setIsAlive(member.isAlive)
  info.setHttpEndPoint(endpoint)
  return info
}
