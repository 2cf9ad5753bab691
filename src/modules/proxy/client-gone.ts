/** The client has closed its connection: nobody is left to answer. */
export class ClientGone extends Error {
  constructor() {
    super('the client has left');
    this.name = 'ClientGone';
  }
}
