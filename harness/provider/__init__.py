"""The simulated provider: plays a script over a wire, in process or on a socket.

It decodes, judges and records every request, and answers as the provider would. It knows neither the loop nor the
client side of the wires.
"""
