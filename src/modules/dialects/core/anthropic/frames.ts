/** What a client is sent between two events to say that its stream still lives. */
export const PING_EVENT = 'event: ping\ndata: {"type":"ping"}\n\n';
