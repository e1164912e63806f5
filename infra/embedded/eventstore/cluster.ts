/**
 * What the server says of itself: one node, the leader, and the calls it knows.
 */

import { randomUUID } from 'node:crypto'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'

const INSTANCE_ID = randomUUID()
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
export function clusterOf(host: string, port: number): gossip.ClusterInfo {
  const endpoint = new gossip.EndPoint()
  endpoint.setAddress(host)
  endpoint.setPort(port)
  const member = new gossip.MemberInfo()
  member.setInstanceId(new shared.UUID().setString(INSTANCE_ID))
  // .NET ticks since the Unix epoch.
  member.setTimeStamp(`${Date.now()}0000`)
  member.setState(gossip.MemberInfo.VNodeState.LEADER)
  member.setIsAlive(true)
  member.setHttpEndPoint(endpoint)
  const cluster = new gossip.ClusterInfo()
  cluster.addMembers(member)
  return cluster
}
